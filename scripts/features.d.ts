/** See features.js. */
export declare function featureOf(path: string): string;
export declare function emptyFeatures(paths: readonly string[]): string[];
