/** Runs once after all tests, failed or not: the databases and the server are gone afterwards. */
// eslint-disable-next-line import-x/no-default-export -- jest calls the default export
export default async function teardown() {
  await globalThis.testDatabaseDesk?.close();
}
