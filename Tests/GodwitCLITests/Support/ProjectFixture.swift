import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A folder with model versions as Xcode writes them, stores, and the files beside them.
struct ProjectFixture {
  let folder = Result { try TemporaryFolder() }

  func path(_ name: String) throws -> String { try folder.get().file(name) }

  func write(_ name: String, _ text: String) throws {
    let path = try path(name)
    try FileManager.default.createDirectory(
      at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  func bundle(_ name: String, _ versions: [ManagedObjectModel]) throws {
    for model in versions { try write("\(name)/\(model.name).xcdatamodel/contents", model.xcodeContents) }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": (versions.last?.name ?? "") + ".xcdatamodel"], format: .xml,
      options: 0)
    try marker.write(to: URL(filePath: path("\(name)/.xccurrentversion")))
  }

  func store(_ name: String, _ model: ManagedObjectModel, _ body: (StoreBuilder) throws -> Void) throws {
    let builder = try StoreBuilder(path: path(name), model: model)
    try body(builder)
    try builder.finish()
  }

  func godwit(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) { godwit(arguments) }

  /// Runs a command. A plan precedes each run, and must end as the run does.
  func godwit(_ arguments: [String]) -> (status: Int32, output: String, diagnostics: String) {
    guard arguments.first == "run", let options = Self.planned(arguments) else { return command(arguments) }
    let plan = command(["plan"] + options)
    let run = command(arguments)
    // A plan cannot know what stops a run.
    if ![75, 130, 143].contains(run.status) {
      #expect(
        plan.status == run.status,
        "the plan ends with \(plan.status), the run with \(run.status)\n\(plan.output)\(plan.diagnostics)\(run.diagnostics)"
      )
    }
    return run
  }

  /// `M.xcdatamodeld`, whose second version has an attribute more; `s.sqlite` of the first, with one object; and
  /// `job.yaml` from one to the other.
  func makeTwoVersions() throws {
    func model(_ number: Int) throws -> ManagedObjectModel {
      let texts = ["y", "z"].prefix(number).map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(name: "M \(number)", entities: [.made("T", Array(texts))])
    }
    try bundle("M.xcdatamodeld", [try model(1), try model(2)])
    try store("s.sqlite", model(1)) { try $0.insert("T", key: 1, attributes: ["y": .init("a")]) }
    try write("job.yaml", "godwit: 1\nsource: s.sqlite\ndestination: d.sqlite\nmodels: M.xcdatamodeld\n")
  }

  /// The arguments of a run that a plan takes too; nil for a run that does more than its job.
  private static func planned(_ arguments: [String]) -> [String]? {
    var planned: [String] = []
    var rest = arguments.dropFirst()
    while let argument = rest.popFirst() {
      switch argument {
      case "-q", "--quiet": continue
      case "--progress": rest = rest.dropFirst()
      case "--set", "--source", "--destination": planned += [argument] + [rest.popFirst() ?? ""]
      default:
        guard !argument.hasPrefix("-") else { return nil }
        planned.append(argument)
      }
    }
    return planned
  }

  private func command(_ arguments: [String]) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }
}

extension EntityDescription {
  static func made(_ name: String, _ attributes: [AttributeDescription]) -> EntityDescription {
    EntityDescription(name: name, attributes: attributes)
  }
}
