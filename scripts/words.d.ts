/** See words.js. */
export declare function placesIn(text: string): string[];
