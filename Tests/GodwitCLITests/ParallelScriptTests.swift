import Foundation
import Testing

@testable import GodwitCLI

private enum GNUParallel {
  static let isInstalled =
    (try? ShellCommand.run("parallel --version", in: "/"))?.output.hasPrefix("GNU parallel") ?? false
}

/// The script is run with GNU parallel itself, and with a `godwit` that notes how it is called.
@Suite(.enabled(if: GNUParallel.isInstalled, "GNU parallel is not installed"))
struct ParallelScriptTests {
  private static func fixture(
    shards: Int = 5, hasCanary: Bool = true, options: SubmitOptions = SubmitOptions()
  ) throws -> SubmitFixture {
    let fixture = try SubmitFixture(
      shards: shards, hasCanary: hasCanary, options: options, folderName: SubmitFixture.folderName + " \\ x")
    try fixture.write(ParallelScript(fleet: fixture.fleet.checked()).text, to: "fleet")
    return fixture
  }

  @Test func `the canary runs alone and first, then each other shard once, then the report`() throws {
    let fixture = try Self.fixture()
    let said = try fixture.run("bash fleet")
    #expect(said.status == 0, "\(said)")
    let shards = try fixture.shardsRun()
    #expect(shards.first == 0 && shards.sorted() == [0, 1, 2, 3, 4])
    #expect(fixture.lines("calls").last?.hasPrefix("<fleet><merge><\(fixture.fleet.manifest)><-o>") == true)
    fixture.expectNoHarm()
    try fixture.lint("fleet")
  }

  @Test func `the next call takes only what is not done`() throws {
    let fixture = try Self.fixture(hasCanary: false)
    for (shard, status) in [(1, "75"), (2, "3"), (3, "4")] { try fixture.write(status, to: "status.\(shard)") }
    try fixture.write("75", to: "status.merge")
    // 4 says more than 75: calling again does not help.
    #expect(try fixture.run("bash fleet").status == 4)
    #expect(try fixture.shardsRun().sorted() == [0, 1, 2, 3, 4])
    fixture.remove("calls", "status.1", "status.3", "status.merge")
    #expect(try fixture.run("bash fleet").status == 0)
    #expect(try fixture.shardsRun().sorted() == [1, 3])
  }

  @Test func `a canary that fails is the end, and the report comes nevertheless`() throws {
    let fixture = try Self.fixture()
    try fixture.write("65", to: "status.0")
    #expect(try fixture.run("bash fleet").status == 65)
    #expect(try fixture.shardsRun() == [0])
    #expect(fixture.lines("calls").last?.contains("<merge>") == true)
  }

  @Test func `a status that concerns all shards begins no more of them, and is the script's`() throws {
    let fixture = try Self.fixture(shards: 40, hasCanary: false, options: SubmitOptions(throttle: 1))
    try fixture.write("78", to: "status.1")
    try fixture.write("75", to: "status.merge")
    let said = try fixture.run("bash fleet")
    #expect(said.status == 78, "\(said)")
    let shards = try fixture.shardsRun()
    #expect(shards.starts(with: [0, 1]) && shards.count < 40, "\(shards)")
  }

  @Test func `a process that is killed does not keep the other shards from running`() throws {
    let fixture = try Self.fixture(hasCanary: false, options: SubmitOptions(throttle: 1))
    try fixture.write("137", to: "status.1")
    try fixture.write("75", to: "status.merge")
    #expect(try fixture.run("bash fleet").status == 137)
    #expect(try fixture.shardsRun() == [0, 1, 2, 3, 4])
  }

  @Test func `a signal stops the shards that run, begins no others, and ends with the fleet's status`() throws {
    let fixture = try Self.fixture(shards: 4, options: SubmitOptions(throttle: 1))
    try fixture.write("", to: "slow")
    // The report must not wait too.
    try fixture.write("75", to: "status.merge")
    let said = try fixture.run(
      """
      bash fleet & fleet=$!
      while [ ! -e started ]; do sleep 0.05; done
      rm slow
      kill -TERM "$fleet"
      wait "$fleet"
      """)
    #expect(said.status == 75, "\(said)")
    #expect(try fixture.shardsRun() == [0])
  }

  @Test func `a time limit is passed on, and nothing begins after it`() throws {
    let fixture = try Self.fixture(shards: 2, options: SubmitOptions(seconds: 3600))
    #expect(try fixture.run("bash fleet").status == 0)
    let limits = fixture.lines("calls").compactMap { $0.firstMatch(of: /<--max-duration><([0-9]+)s>/)?.1 }
    #expect(limits.count == 2 && limits.allSatisfy { (3000...3600).contains(Int($0) ?? 0) }, "\(limits)")
    fixture.remove("calls")
    let late = try fixture.run("sed 's/^end=.*/end=1/' fleet >late && bash late")
    #expect(late.status == 75, "\(late)")
    #expect(try fixture.shardsRun().isEmpty)
  }

  @Test func `other machines run the shards through ssh`() throws {
    let fixture = try Self.fixture(shards: 4, options: SubmitOptions(throttle: 1))
    // A stand-in for ssh: a clean environment and another folder.
    try fixture.write(
      """
      #!/bin/bash
      while [ "${1:0:1}" = - ]; do shift; done
      echo "$1" >>"$NOTES/hosts"
      shift
      if [ "$1" = -- ]; then shift; fi
      cd / && exec env -i HOME=/ PATH="$PATH" NOTES="$NOTES" SHELL=/bin/bash bash -c "$*"
      """, to: "bin/ssh-stand-in")
    let said = try fixture.run(
      "chmod +x bin/ssh-stand-in && FLEET_SSHLOGIN=\"$PWD/bin/ssh-stand-in n1,$PWD/bin/ssh-stand-in n2\" bash fleet")
    #expect(said.status == 0, "\(said)")
    #expect(try fixture.shardsRun().sorted() == [0, 1, 2, 3])
    #expect(Set(fixture.lines("hosts")) == ["n1", "n2"])
  }

  @Test func `the script of another plan, or without its commands, begins nothing`() throws {
    let fixture = try Self.fixture()
    #expect(try fixture.run("GODWIT=./nothing bash fleet").status == 66)
    try "{}".write(toFile: fixture.fleet.folder + "/plan.json", atomically: true, encoding: .utf8)
    #expect(try fixture.run("bash fleet").status == 73)
    #expect(fixture.lines("calls").isEmpty)
  }
}
