/** What a run knows of the calls of the runs before it, whatever became of them and of the wall clock. */
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { type CallLog, openCallLog, readCalls } from "../../src/collect/callLog.ts";
import { createTestClock } from "../support/clock.ts";
import { tempDir } from "../support/tempDir.ts";

const GOVERNOR = { limit: 60, windowMs: 60_000 };

/** A machine that is booted, whose clock is set, and on which processes come and go. */
function machineAt(dataDir: string, account = "a".repeat(32)) {
  const clock = createTestClock();
  let bootId: string | null = "boot-1";
  let bootedAtMs = -1_000_000;
  const problems: string[] = [];
  const options = () => ({
    ...{ dataDir, account, governor: GOVERNOR, bootId },
    clock: { ...clock, uptimeMs: () => clock.monotonicMs() - bootedAtMs },
    onProblem: (error: Error) => void problems.push(error.message),
  });
  return {
    ...{ clock, problems },
    boot: (id: string | null) => {
      bootId = id;
      bootedAtMs = clock.monotonicMs();
    },
    run: (): CallLog => openCallLog(options()),
    read: (): ReturnType<typeof readCalls> => readCalls(options()),
  };
}

function filesOf(dataDir: string): string[] {
  return readdirSync(join(dataDir, "calls")).map((name) => join(dataDir, "calls", name));
}

test("a run after a kill knows of each call when it left and when it was answered, and which have no answer", () => {
  const machine = machineAt(tempDir());
  const killed = machine.run();
  const answered = killed.leaves("a");
  machine.clock.advance(200);
  answered();
  machine.clock.advance(800);
  killed.leaves("b");
  machine.clock.advance(5_000);

  const { calls, certain, requestIds } = machine.read();

  // Ages are told a hundredth of a second too young, never too old.
  expect(calls).toEqual([
    { sentAgoMs: 5_990, answeredAgoMs: 5_790 },
    { sentAgoMs: 4_990, answeredAgoMs: null },
  ]);
  expect(certain).toBe(true);
  expect([...requestIds]).toEqual(["a", "b"]);
});

test.each(["2026-11-20T21:00:00.000Z", "2026-11-21T09:00:00.000Z"])(
  "a run after a kill knows the ages of calls although the wall clock was set to %s meanwhile, and what the clock would show",
  (wall) => {
    const machine = machineAt(tempDir());
    machine.run().leaves("a")();
    machine.clock.advance(3_000);
    machine.clock.setTo(wall);

    const { calls, certain, thenNow } = machine.read();

    expect(calls).toEqual([{ sentAgoMs: 2_990, answeredAgoMs: 2_990 }]);
    expect(certain).toBe(true);
    expect(thenNow.toISOString()).toBe("2026-11-20T22:50:03.000Z");
  },
);

test.each([
  ["in another boot", "boot-2"],
  ["on a system that does not name its boots", null],
  ["in a container whose uptime began anew", "boot-1"],
])("a run after a kill %s goes by the wall clock, and says that it is not certain", (_where, bootId) => {
  const machine = machineAt(tempDir());
  machine.run().leaves("a")();
  machine.clock.advance(3_000);
  machine.boot(bootId);

  const { calls, certain, thenNow } = machine.read();

  expect(calls).toEqual([{ sentAgoMs: 3_000, answeredAgoMs: 3_000 }]);
  expect(certain).toBe(false);
  expect(thenNow).toEqual(machine.clock.now());
});

test("a run after a kill knows how long nothing may be sent, until that has passed", () => {
  const machine = machineAt(tempDir());
  machine.run().closed(300_000);
  machine.clock.advance(120_000);
  machine.run();

  expect(machine.read().closedForMs).toBe(180_000);
  machine.clock.advance(180_000);
  expect(machine.read().closedForMs).toBe(0);
});

test("a run with another data directory knows no earlier calls", () => {
  machineAt(tempDir()).run().leaves("a");

  expect(machineAt(tempDir()).read()).toMatchObject({ calls: [], closedForMs: 0, certain: true });
});

test("two processes beside each other know each other's calls", () => {
  const machine = machineAt(tempDir());
  const collector = machine.run();
  const poll = machine.run();
  collector.leaves("a");
  poll.leaves("b");

  expect([...machine.read().requestIds].sort()).toEqual(["a", "b"]);
});

test("days of calls fill a file of two windows; files of runs that are long over are removed", () => {
  const dataDir = tempDir();
  const machine = machineAt(dataDir);
  for (let run = 0; run < 3; run += 1) {
    const log = machine.run();
    for (let call = 0; call < 1_000; call += 1) {
      const over = log.leaves(`${run}-${call}`);
      machine.clock.advance(1_000);
      over();
    }
  }

  const files = filesOf(dataDir);
  expect(files).toHaveLength(2);
  for (const file of files) expect(statSync(file).size).toBeLessThan(70_000);
  // Two windows back, and not one call less.
  expect(machine.read().calls).toHaveLength(120);
});

test("what is torn, cut off or somebody else's is passed over, and costs no other call", () => {
  const dataDir = tempDir();
  const machine = machineAt(dataDir);
  const log = machine.run();
  for (const id of ["a", "b", "c"]) log.leaves(id);
  const [file = ""] = filesOf(dataDir);
  const text = readFileSync(file, "latin1");
  const second = text.indexOf('"b"');
  writeFileSync(file, `${text.slice(0, second)}\0\0\0${text.slice(second + 3)}`, "latin1");
  appendFileSync(file, "half a li");
  writeFileSync(join(dataDir, "calls", "foreign.log"), "ÿ{}[]\n".repeat(5_000));
  mkdirSync(join(dataDir, "calls", "directory.log"));
  symlinkSync("/dev/zero", join(dataDir, "calls", "link.log"));

  expect([...machine.read().requestIds]).toEqual(["a", "c"]);
  machine.run();
  expect(machine.problems).toEqual([]);
});

test("a directory that cannot be written is told once, and stops neither a start nor a call", () => {
  const dataDir = tempDir();
  writeFileSync(join(dataDir, "calls"), "a file");
  const machine = machineAt(dataDir);
  const log = machine.run();

  log.leaves("a")();
  log.closed(1_000);

  expect(machine.read()).toMatchObject({ calls: [], closedForMs: 0 });
  expect(machine.problems).toHaveLength(1);
});

test.each([0o000, 0o777])("the files are their owner's alone under a umask of %i", (mask) => {
  const dataDir = tempDir();
  const before = process.umask(mask);
  try {
    machineAt(dataDir).run().leaves("a")();
  } finally {
    process.umask(before);
  }

  expect((statSync(join(dataDir, "calls")).mode & 0o777).toString(8)).toBe("700");
  expect(filesOf(dataDir).map((file) => (statSync(file).mode & 0o777).toString(8))).toEqual(["600"]);
});

test("calls of another account are none of it, and those that an older version noted are everybody's", () => {
  const dataDir = tempDir();
  const [first, second] = [machineAt(dataDir, "a".repeat(32)), machineAt(dataDir, "b".repeat(32))];
  first.run().leaves("of the first");
  second.run().leaves("of the second");
  const [own = ""] = filesOf(dataDir).filter((file) => file.includes("aaaa"));
  copyFileSync(own, own.replace(/-a+\.log$/, ".log"));

  expect([...second.read().requestIds].toSorted()).toEqual(["of the first", "of the second"]);
  rmSync(own.replace(/-a+\.log$/, ".log"));
  expect([...second.read().requestIds]).toEqual(["of the second"]);
  expect([...first.read().requestIds]).toEqual(["of the first"]);
});
