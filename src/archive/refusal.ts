/** Which of the database's errors blame the data of a row, and not the database. */

/**
 * SQLSTATE classes by which the database refuses a row for its data: 22 (data exception), 23 (integrity constraint),
 * 54 (program limit exceeded: a symbol too long for its index). PostgreSQL Appendix A.
 */
const REFUSED_FOR_DATA = /^(22|23|54)/;

const CHECK_VIOLATION = "23514";

/** Whether the database refused a row for its data. */
export function isRefusedForData(error: unknown): error is { code: string; message: string } {
  return REFUSED_FOR_DATA.test(sqlstateOf(error)) && !isWithoutPartition(error);
}

/** 23514 without a constraint's name: a partition was taken away meanwhile. That is no fault of the row. */
export function isWithoutPartition(error: unknown): boolean {
  return sqlstateOf(error) === CHECK_VIOLATION && (error as { constraint?: string }).constraint === undefined;
}

/** The SQLSTATE of an error; empty when it has none. */
export function sqlstateOf(error: unknown): string {
  return (error as { code?: string }).code ?? "";
}
