import ArgumentParser
import GodwitJob
import GodwitModel

struct ModelHashVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "hash", abstract: "Print the version hash of every entity, as Core Data computes it.")

  @Argument(help: ModelVerb.help, completion: .file()) var model: String
  @OptionGroup var published: HashOptions
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.modelHash] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let model = try ModelVerb.read(model, hashes: published.hashes)
    let versionHashes = model.versionHashes.mapValues(\.base64)
    switch format.format {
    case .json:
      try session.print(
        json: Record(entities: versionHashes, checksum: model.versionChecksum, digest: model.versionHashesDigest),
        as: .modelHash)
    case .text:
      let width = versionHashes.keys.map(\.onOneLine.count).max() ?? 0
      for (key, hash) in versionHashes.sorted(by: { ManagedObjectModel.precedes($0.key, $1.key) }) {
        session.output.write("\(key.onOneLine.padded(to: width))  \(hash)\n")
      }
      session.output.write("\nchecksum  \(model.versionChecksum)\ndigest    \(model.versionHashesDigest)\n")
    }
    session.warnOfUnconfirmedHashRules(model.unconfirmedHashRules.map(\.description))
    return 0
  }

  private struct Record: Encodable {
    let entities: [String: String]
    let checksum, digest: String
  }
}
