/** See rooms.js. */
export type Rooms = { src: Record<string, number>; test: Record<string, number>; docs: number };
export declare function measureRooms(root: string): Rooms;
export declare function measureFeatures(root: string): Record<string, number>;
