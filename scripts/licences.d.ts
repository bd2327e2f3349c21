/** See licences.js, which runs before anything could compile it. */
export declare function libraryOf(dir: string): { name: string; version: string; text: string };
