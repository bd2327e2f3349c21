/** See manifest.js, which runs before anything could compile it. */
export declare function tarballManifest(checkout: {
  devDependencies: Record<string, string>;
}): Record<string, unknown>;
