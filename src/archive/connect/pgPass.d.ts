/** The part of pgpass that we use; the package has no types. */
declare module "pgpass" {
  /** Looks up the password of a login (host, port, database, user) in PGPASSFILE or ~/.pgpass. */
  function pgPass(login: object, callback: (password: string | undefined) => void): void;
  export = pgPass;
}
