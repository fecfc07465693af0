import Foundation
import GodwitModel
import TestSupport
import Testing

/// The files under `jobs/deploy`, which operators copy.
struct DeployTests {
  private static let folder = Checkout.url("jobs/deploy")

  private static func text(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  /// `Key=value` by section, in order; a key may come again.
  private static func unit(_ name: String) throws -> [String: [(key: String, value: String)]] {
    var sections: [String: [(key: String, value: String)]] = [:]
    var section = ""
    for line in try text(name).split(separator: "\n") where !line.hasPrefix("#") {
      if line.hasPrefix("["), line.hasSuffix("]") {
        section = String(line.dropFirst().dropLast())
      } else {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        try #require(parts.count == 2 && !section.isEmpty, "\(name): \(line)")
        sections[section, default: []].append((String(parts[0]), String(parts[1])))
      }
    }
    return sections
  }

  private static func values(_ key: String, _ unit: [String: [(key: String, value: String)]]) -> [String] {
    (unit["Service"] ?? []).filter { $0.key == key }.map(\.value)
  }

  /// Copies of the units that need neither the user nor the package on this machine.
  private static func copies() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-units")
    let command = try #require(BuiltCommand.path)
    for name in ["godwit@.service", "godwit@.timer", "godwit-alert@.service"] {
      let here = try text(name).replacing("/usr/bin/godwit", with: command)
        .replacing(/\n(User|Group)=godwit/, with: "").replacing("/srv/migrate/%i", with: folder.path)
      try here.write(toFile: folder.file(name), atomically: true, encoding: .utf8)
    }
    return folder
  }

  // MARK: Common rules

  @Test func `the service resumes after 75, runs godwit, and writes nowhere but in its folder`() throws {
    let unit = try Self.unit("godwit@.service")
    #expect(Self.values("Type", unit) == ["exec"])
    #expect(Self.values("RestartForceExitStatus", unit) == ["\(GodwitError.Code.stopped.rawValue)"])
    #expect(Self.values("ProtectSystem", unit) == ["strict"])
    #expect(Self.values("ReadWritePaths", unit) == Self.values("WorkingDirectory", unit))
    for key in ["PrivateTmp", "NoNewPrivileges", "ProtectHome", "MemoryDenyWriteExecute"] {
      #expect(Self.values(key, unit) == ["yes"], "\(key)")
    }
    #expect(Self.values("MemoryMax", unit).count == 1 && Self.values("RestartSec", unit).count == 1)
    // The command itself checks its options.
    for name in ["godwit@.service", "night-only.conf"] {
      let command = try #require(Self.values("ExecStart", Self.unit(name)).last)
      let words = command.split(separator: " ").map(String.init)
      try #require(words.first == "/usr/bin/godwit")
      let folder = try TemporaryFolder()
      let result = try BuiltCommand.run(Array(words.dropFirst()), in: folder.path)
      #expect(result.status == GodwitError.Code.missingInput.rawValue, "\(command): \(result)")
    }
    let nightOnly = try Self.unit("night-only.conf")
    #expect(Self.values("RestartForceExitStatus", nightOnly) == [""])
    #expect(Self.values("ExecStart", nightOnly).first == "")
    #expect(Self.values("SuccessExitStatus", nightOnly) == ["75"])
    let timer = try Self.unit("godwit@.timer")
    #expect(timer["Install"]?.map(\.value) == ["timers.target"])
    #expect(timer["Timer"]?.contains { $0.key == "OnCalendar" && $0.value == "*-*-* 01:30 UTC" } == true)
  }

  /// Five fields of numbers in their ranges, then a command; or a variable. A line ends with a line feed, and `%` would
  /// end the command.
  @Test func `the crontab has lines that cron takes`() throws {
    let text = try Self.text("crontab")
    #expect(text.hasSuffix("\n"))
    var commands: [Substring] = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      if line.wholeMatch(of: /[A-Z]+=\S+/) != nil { continue }
      let fields = line.split(separator: " ", maxSplits: 5)
      try #require(fields.count == 6, "\(line)")
      for (field, range) in zip(fields, [0...59, 0...23, 1...31, 1...12, 0...7]) where field != "*" {
        #expect(Int(field).map(range.contains) == true, "\(line)")
      }
      #expect(!fields[5].contains("%"))
      commands.append(fields[5])
    }
    // They are the calls that the page shows.
    let page = try DocumentationPage("RunningNightly")
    let shown = try #require(page.blocks("crontab").first)
    #expect(commands.count == 2 && shown == commands.map { "30 1 * * * \($0)" }.joined(separator: "\n"))
    #expect(page.text.contains("`jobs/deploy`"))
  }

  @Test func `the README names every file, and the page names the folder`() throws {
    let readme = try Self.text("README.md")
    for name in try FileManager.default.contentsOfDirectory(atPath: Self.folder.path) where name != "README.md" {
      #expect(readme.contains("`\(name)`"), "\(name)")
    }
    #expect(try Self.text("logrotate").contains("/srv/migrate/log/*.jsonl /srv/migrate/log/*.err {"))
  }

  @Test func `the script for one job is silent in a good night, and tells the status of a bad one`() throws {
    let folder = try GettingStartedTests.folder()
    let command = try #require(BuiltCommand.path)
    let script = """
      mkdir bin app && ln -s '\(command)' bin/godwit && PATH="$PWD/bin:$PATH" && cp '\(Self.folder.path)/nightly-store' .
      mv people.sqlite app && cp -R Peoplizer.xcdatamodeld *.mapping.yaml app && cd app || exit 1
      godwit init people.sqlite Peoplizer.xcdatamodeld >/dev/null && cd / || exit 1
      "$OLDPWD/../nightly-store" app && "$OLDPWD/../nightly-store" app 1h
      """
    let good = try ShellCommand.run(script, in: folder.path)
    #expect(good.status == 0 && good.output.isEmpty && good.diagnostics.isEmpty, "\(good)")
    for name in ["log/app.jsonl", "log/app.html", "metrics/app.prom"] {
      #expect(FileManager.default.fileExists(atPath: folder.file(name)), "\(name)")
    }
    let again = "PATH=\"$PWD/bin:$PATH\"; cp app/people.sqlite . && echo >>app/people.sqlite && ./nightly-store app"
    let bad = try ShellCommand.run(again, in: folder.path)
    #expect(bad.status != 0 && bad.diagnostics.hasSuffix("\napp: status \(bad.status)\n"), "\(bad)")
    #expect(bad.diagnostics.hasPrefix("godwit: "), "\(bad)")
    #expect(try ShellCommand.run("./nightly-store none", in: folder.path).status != 0)
  }

  // MARK: Checks by tools of the system

  private static func installed(_ paths: String...) -> String? {
    paths.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private static let analyzer = installed("/usr/bin/systemd-analyze", "/bin/systemd-analyze")
  private static let crontab = installed("/usr/bin/crontab")
  private static let logrotate = installed("/usr/sbin/logrotate", "/sbin/logrotate")

  @Test(.enabled(if: analyzer != nil, "systemd is not installed: `systemd-analyze` is not asked"))
  func `systemd takes the units, also by day, and finds little exposed`() throws {
    let folder = try Self.copies()
    let analyzer = try #require(Self.analyzer)
    func verify(_ units: String) throws {
      let said = try ShellCommand.run("\(analyzer) verify --man=no \(units)", in: folder.path)
      #expect(said.status == 0 && said.diagnostics.isEmpty, "\(said)")
    }
    try verify("./godwit@.service ./godwit@.timer ./godwit-alert@.service")
    let drops = folder.file("godwit@.service.d")
    try FileManager.default.createDirectory(atPath: drops, withIntermediateDirectories: false)
    let command = try #require(BuiltCommand.path)
    try Self.text("night-only.conf").replacing("/usr/bin/godwit", with: command)
      .write(toFile: drops + "/night-only.conf", atomically: true, encoding: .utf8)
    try verify("./godwit@.service")
    try FileManager.default.removeItem(atPath: drops)
    // The user is left out of the copy, and counts.
    let unit = try String(contentsOfFile: folder.file("godwit@.service"), encoding: .utf8)
    try unit.replacing("[Service]\n", with: "[Service]\nUser=nobody\n")
      .write(toFile: folder.file("godwit@.service"), atomically: true, encoding: .utf8)
    let security = try ShellCommand.run(
      "\(analyzer) security --no-pager --offline=true --threshold=15 ./godwit@.service", in: folder.path)
    #expect(security.status == 0 && security.output.contains("Overall exposure level"), "\(security)")
    // The same check of a unit without a sandbox fails: the threshold can be missed.
    try "[Service]\nExecStart=/bin/true\n".write(
      toFile: folder.file("bare@.service"), atomically: true, encoding: .utf8)
    let bare = try ShellCommand.run(
      "\(analyzer) security --no-pager --offline=true --threshold=15 ./bare@.service", in: folder.path)
    #expect(bare.status != 0)
  }

  @Test(.enabled(if: crontab != nil, "cron is not installed: `crontab` is not asked"))
  func `crontab takes the file`() throws {
    let crontab = try #require(Self.crontab)
    let folder = try TemporaryFolder()
    let file = Self.folder.appending(path: "crontab").path
    let said = try ShellCommand.run("\(crontab) -n '\(file)'", in: folder.path)
    // Other versions of cron have no such option.
    if said.diagnostics.contains("option") { return }
    #expect(said.status == 0, "\(said)")
    try "61 1 * * * true\n".write(toFile: folder.file("wrong"), atomically: true, encoding: .utf8)
    #expect(try ShellCommand.run("\(crontab) -n wrong", in: folder.path).status != 0)
  }

  @Test(.enabled(if: logrotate != nil, "logrotate is not installed and not asked"))
  func `logrotate rotates the logs of the script`() throws {
    let logrotate = try #require(Self.logrotate)
    let folder = try TemporaryFolder()
    let text = try Self.text("logrotate").replacing("/srv/migrate", with: folder.path)
      .replacing("    su godwit godwit\n", with: "")
    try text.write(toFile: folder.file("rules"), atomically: true, encoding: .utf8)
    let script = """
      mkdir log && echo line >log/a.jsonl && echo line >log/a.err && touch log/a.verified && chmod 644 rules
      \(logrotate) --force --state "$PWD/state" rules && ls log
      """
    let said = try ShellCommand.run(script, in: folder.path)
    #expect(said.status == 0, "\(said)")
    #expect(said.output == "a.err.1\na.jsonl.1\na.verified\n", "\(said)")
  }
}
