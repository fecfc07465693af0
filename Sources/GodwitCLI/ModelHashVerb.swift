import ArgumentParser
import GodwitModel

struct ModelHashVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "hash", abstract: "Print the version hash of every entity, as Core Data computes it.")

  @Argument(help: ModelVerb.help) var model: String
  @OptionGroup var format: FormatOptions

  mutating func run(in session: CommandSession) throws -> Int32 {
    let model = try ModelVerb.read(model)
    let hashes = model.versionHashes.mapValues(\.base64)
    switch format.format {
    case .json:
      try session.print(
        json: Record(entities: hashes, checksum: model.versionChecksum, digest: model.versionHashesDigest))
    case .text:
      let width = hashes.keys.map(\.count).max() ?? 0
      for (name, hash) in hashes.sorted(by: { ManagedObjectModel.precedes($0.key, $1.key) }) {
        session.output.write(name + String(repeating: " ", count: width - name.count + 2) + hash + "\n")
      }
      session.output.write("\nchecksum  \(model.versionChecksum)\ndigest    \(model.versionHashesDigest)\n")
    }
    for rule in model.unconfirmedHashRules {
      session.diagnostics.write("godwit: warning: the hash relies on a rule that is not confirmed: \(rule)\n")
    }
    return 0
  }

  private struct Record: Encodable {
    let entities: [String: String]
    let checksum, digest: String
  }
}
