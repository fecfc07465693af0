import ArgumentParser
import Foundation
import GodwitManifest
import GodwitModel
import GodwitXcode

struct MappingConvertVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract:
      "Print a .xcmappingmodel or .cdm as an equivalent mapping file, or write a mapping file as .xcmappingmodel.",
    discussion: """
      A .xcmappingmodel omits what Xcode's compiler fills in from the two models. Give the models with --source and \
      --destination. Without them, Godwit uses the models inside the file, as of the last time Xcode refreshed it.

      With `--to xcmappingmodel` a mapping file becomes a .xcmappingmodel without models inside. What Core Data cannot say \
      is listed (78), and nothing is written.
      """)

  /// The form that is made.
  enum Target: String, ExpressibleByArgument, CaseIterable {
    case yaml, xcmappingmodel
  }

  @Argument(
    help: ArgumentHelp(
      "A .xcmappingmodel, the xcmapping.xml in it, or a .cdm; with `--to xcmappingmodel` also a mapping file.",
      valueName: "FILE"), completion: .file())
  var file: String

  @Option(
    help: ArgumentHelp(
      "The format to write; xcmappingmodel needs -o X.xcmappingmodel.", valueName: "yaml|xcmappingmodel"))
  var to = Target.yaml
  @Option(help: ArgumentHelp("The source model of the mapping model.", valueName: "MODEL"), completion: .file())
  var source: String?
  @Option(help: ArgumentHelp("The destination model of the mapping model.", valueName: "MODEL"), completion: .file())
  var destination: String?
  @OptionGroup var output: MappingOutput

  func validate() throws {
    guard (source == nil) == (destination == nil) else {
      throw ValidationError("expected --source and --destination together, found one of them")
    }
    guard to == .xcmappingmodel else { return }
    guard let path = output.output, URL(filePath: path).pathExtension == "xcmappingmodel" else {
      throw ValidationError("expected -o with a name that ends in .xcmappingmodel beside '--to xcmappingmodel'")
    }
  }

  static var outputs: [OutputKind] { [.mappingResult] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let models = try source.flatMap { source in
      try destination.map { (source: try ModelVerb.read(source), destination: try ModelVerb.read($0)) }
    }
    switch to {
    case .yaml: try output.write(try xcodeMapping(models), remarks: [], in: session)
    case .xcmappingmodel:
      let kind = XcodeFileKind.identify(file)
      let isXcode = kind == .mappingModel || kind == .compiledMappingModel
      let model = try isXcode ? xcodeMapping(models) : MappingModel(contentsOfYAML: file)
      try write(model, models, to: output.output ?? "")
      try output.tell(model, in: session)
    }
    return 0
  }

  private typealias Models = (source: ManagedObjectModel, destination: ManagedObjectModel)

  private func xcodeMapping(_ models: Models?) throws -> MappingModel {
    let found: XcodeMappingModel
    do { found = try XcodeMappingModel(contentsOf: file) } catch var error as GodwitError {
      if ["yaml", "yml"].contains(URL(filePath: file).pathExtension.lowercased()), error.code == .missingInput,
        FileManager.default.fileExists(atPath: file)
      {
        error.remedy =
          "give a mapping model of Xcode, or write the mapping file as one: `--to xcmappingmodel -o X.xcmappingmodel`"
      }
      throw error
    }
    return try models.map { try found.mappingModel(from: $0.source, to: $0.destination) } ?? found.mappingModel()
  }

  // MARK: An .xcmappingmodel

  private func write(_ model: MappingModel, _ models: Models?, to path: String) throws {
    let paths = (
      source: try Self.path(of: model.sourceModelName, models?.source.name, source, "--source"),
      destination: try Self.path(of: model.destinationModelName, models?.destination.name, destination, "--destination")
    )
    let bytes = try SourceMappingWriter.bytes(
      of: model, paths: paths, from: models?.source, to: models?.destination)
    let folder = try NewFolder(path: path, like: file)
    do {
      let place = OutputFile("\(folder.temporary)/xcmapping.xml", "a mapping model", like: [file])
      try ExportFile.write(String(decoding: bytes, as: UTF8.self), to: place)
      try folder.finish()
    } catch {
      folder.discard()
      throw error
    }
  }

  /// The path of a version as Xcode has it, from its bundle.
  private static func path(of named: String?, _ given: String?, _ reference: String?, _ option: String) throws -> String
  {
    guard let name = given ?? named else {
      throw GodwitError(
        .usage, "cannot write the mapping model: nothing says which versions it is for",
        remedy: "give --source and --destination", safe: "nothing was written")
    }
    if let named, named != name {
      throw GodwitError(
        .configuration, "cannot write the mapping model: it is for '\(named)', and \(option) is '\(name)'",
        remedy: "give \(option) the version '\(named)'", safe: "nothing was written")
    }
    let model = reference.map { URL(filePath: ModelReference(parsing: $0).path).standardizedFileURL }
    // The bundle itself, or a version in it.
    let bundle = [model, model?.deletingLastPathComponent()].compactMap { $0 }.map(\.lastPathComponent)
      .first { $0.hasSuffix(".xcdatamodeld") }
    return (bundle.map { $0 + "/" } ?? "") + name + ".xcdatamodel"
  }
}
