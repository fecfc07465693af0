import ArgumentParser
import GodwitManifest
import GodwitModel
import GodwitStore

/// The verbs about mapping models.
struct MappingVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mapping", abstract: "Infer a mapping model, draft a new one, or convert one from or to Xcode's.",
    subcommands: [MappingInferVerb.self, MappingNewVerb.self, MappingConvertVerb.self])

  static let source = ArgumentHelp(
    "The earlier model: a .xcdatamodel or .mom; a .xcdatamodeld or .momd (its current version); a folder with one of them in it; or PATH#Version Name.",
    valueName: "SOURCE")
  static let destination = ArgumentHelp("The later model, given in the same form.", valueName: "DESTINATION")
}

/// The place and format in which a verb writes a mapping file.
struct MappingOutput: ParsableArguments {
  @Option(
    name: .shortAndLong, help: ArgumentHelp("Write to a new mapping file.", valueName: "FILE"), completion: .file())
  var output: String?

  @OptionGroup var format: FormatOptions

  /// Prints or writes a mapping model with its remarks.
  func write(_ model: MappingModel, remarks: [MappingRemark], in session: CommandSession) throws {
    let yaml = model.yaml(remarks: remarks)
    if let output { try ExportFile.write(yaml, to: OutputFile(output, "a mapping file")) }
    try tell(model, remarks: remarks, yaml: yaml, in: session)
  }

  /// Says what was written; prints the mapping file where none was.
  func tell(_ model: MappingModel, remarks: [MappingRemark] = [], yaml: String = "", in session: CommandSession) throws
  {
    switch format.format {
    case .json:
      try session.print(
        json: Record(model, remarks: remarks, yaml: output == nil ? yaml : nil, file: output), as: .mappingResult)
    case .text:
      guard let output else { return session.output.write(data: yaml) }
      session.output.write("\(output.onOneLine): \(model.entityMappings.count.counted("entity mapping"))\n")
    }
  }

  private struct Record: Encodable {
    struct Remark: Encodable {
      let mapping, property: String?
      let text: String
      let isPlaceholder: Bool

      private enum CodingKeys: String, CodingKey {
        case mapping, property, text
        case isPlaceholder = "isGap"
      }
    }
    let sourceModel, destinationModel, file: String?
    let mappings: [String]
    let remarks: [Remark]
    /// The mapping file, unless it was written.
    let yaml: String?

    init(_ model: MappingModel, remarks: [MappingRemark], yaml: String?, file: String?) {
      sourceModel = model.sourceModelName
      destinationModel = model.destinationModelName
      self.file = file
      mappings = model.entityMappings.map(\.name)
      self.remarks = remarks.map {
        Remark(mapping: $0.mapping, property: $0.subject.property, text: $0.text, isPlaceholder: $0.isPlaceholder)
      }
      self.yaml = yaml
    }
  }
}
