import ArgumentParser
import GodwitInference
import GodwitModel
import GodwitXcode

struct WhyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "why",
    abstract: "Tell which model version fits a store, else why MODEL does not and what it would take.",
    discussion: """
      Exit status: 0 MODEL fits; 2 a migration is needed; 69 no version of MODEL fits the store. With --against two \
      models are compared, the first as if a store of it were there; rows are not counted then.
      """)

  @Argument(help: ArgumentHelp("A store; a model with --against.", valueName: "STORE")) var source: String
  @Argument(help: ModelVerb.help) var model: String?
  @Option(help: ArgumentHelp("Compare the model in place of STORE with this one.", valueName: "MODEL"))
  var against: String?
  @Option(help: ModelVerb.hashesHelp) var hashes: [String] = []
  @OptionGroup var format: FormatOptions

  func validate() throws {
    switch (model, against) {
    case (nil, nil): throw ValidationError("expected a MODEL, or --against MODEL")
    case (_?, _?): throw ValidationError("expected one MODEL or --against MODEL, found both")
    default: break
    }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let found = try compatibility()
    switch format.format {
    case .json: try session.print(json: found)
    case .text: session.output.write("\(found)\n")
    }
    session.warnOfUnconfirmedHashRules(found.unconfirmedHashRules)
    switch found.verdict {
    case .compatible: return 0
    case .migrationNeeded: return 2
    case .noModelFits:
      throw GodwitError(
        .noPath, "no model fits the store '\(source)'", cause: found.first,
        remedy: "give the model that has the version the store was written with")
    }
  }

  private func compatibility() throws -> Compatibility {
    if let against {
      return Compatibility(of: try ModelVerb.read(source), with: try ModelVerb.read(against, hashes: hashes))
    }
    let reference = ModelReference(parsing: model ?? "")
    let kind = XcodeFileKind.identify(ModelReference(parsing: source).path)
    guard kind == nil else {
      throw GodwitError(
        .usage, "expected a store, found a model: '\(source)'", remedy: "compare two models with `--against MODEL`")
    }
    let bundle = try ModelVerb.bundle(at: reference.path, hashes: hashes)
    return try ModelVerb.listingReadable(in: bundle) {
      try Compatibility(ofStoreAt: source, with: bundle, version: reference.version)
    }
  }
}
