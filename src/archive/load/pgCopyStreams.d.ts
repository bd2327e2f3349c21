/** The little that is used of `pg-copy-streams`, which brings no types. */
declare module "pg-copy-streams" {
  import type { Readable, Writable } from "node:stream";
  import type { Connection, Submittable } from "pg";

  /** A COPY under way: takes the rows as text; `finish` comes when the server has taken them, `rowCount` is theirs. */
  export class CopyStreamQuery extends Writable implements Submittable {
    rowCount: number;
    submit(connection: Connection): void;
  }

  export function from(sql: string): CopyStreamQuery;

  /** A COPY under way the other way: gives the rows as text; `rowCount` is theirs, once they are over. */
  export class CopyToStreamQuery extends Readable implements Submittable {
    rowCount: number;
    submit(connection: Connection): void;
  }

  export function to(sql: string): CopyToStreamQuery;
}
