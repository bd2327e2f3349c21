/** See compile.js, which runs before anything could compile it. */
export declare function compile(sources: string, target: string): void;
