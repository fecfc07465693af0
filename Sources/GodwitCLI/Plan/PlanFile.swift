import Foundation
import GodwitModel
import GodwitStore

/// A plan in a file: what `godwit plan -o` writes, and `--diff` and `godwit run --plan` read.
enum PlanFile {
  /// A plan of ten thousand mappings has a tenth of it.
  private static let limit = ByteCount.mebibytes(256)

  /// The parts of a document that say what it is.
  private struct Head: Decodable {
    var type: String?
    var schemaVersion: Int?
    var isMigrationNeeded: Bool?
    var job: String?

    /// Plans before version 1 of the format had no type.
    var isPlan: Bool { type.map { $0 == "plan" } ?? (job != nil && isMigrationNeeded != nil) }
  }

  /// Reads a plan.
  ///
  /// - Throws: 66 when the file is missing or cannot be read; 78 when it is not a plan, or one of another format.
  static func read(_ path: String) throws -> PlanRecord {
    let data = try bytes(path)
    let head: Head
    do { head = try JSONDecoder().decode(Head.self, from: data) } catch {
      throw notAPlan(path, "it is not JSON of a plan")
    }
    guard head.isPlan else { throw notAPlan(path, head.type.map { "it is of type '\($0)'" } ?? "it has no type") }
    let version = head.schemaVersion ?? PlanRecord.version
    guard version == PlanRecord.version else {
      throw GodwitError(
        .configuration,
        "cannot use the plan '\(path)': expected format version \(PlanRecord.version), found \(version)",
        remedy:
          "make the plan again with this version of Godwit (\(GodwitCommand.version)): `godwit plan JOB.yaml -o FILE`")
    }
    do { return try JSONDecoder().decode(PlanRecord.self, from: data) } catch {
      throw notAPlan(path, Self.text(error))
    }
  }

  private static func bytes(_ path: String) throws -> Data {
    do {
      guard let data = try ReadableFile.bytes(of: path, limit: limit) else {
        throw notAPlan(path, "it is larger than \(limit)")
      }
      return data
    } catch let error as GodwitError {
      if error.code == .dataWrong { throw notAPlan(path, "it is not a file") }
      guard error.code != .configuration else { throw error }
      throw GodwitError(
        error.code, "cannot read the plan '\(path)'", cause: error.message,
        remedy: "name a file that `godwit plan -o FILE` or `godwit plan --format json` wrote")
    }
  }

  private static func notAPlan(_ path: String, _ why: String) -> GodwitError {
    GodwitError(
      .configuration, "cannot use '\(path)' as a plan: \(why)",
      remedy: "name a file that `godwit plan -o FILE` or `godwit plan --format json` wrote")
  }

  /// The key that is wrong, without the decoder's own words.
  private static func text(_ error: any Error) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    func place(_ context: DecodingError.Context) -> String {
      context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    }
    switch error {
    case .keyNotFound(let key, let context): return "it lacks '\(key.stringValue)' at '$\(place(context))'"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      return "its value at '$\(place(context))' is wrong"
    case .dataCorrupted(let context): return "its value at '$\(place(context))' is wrong"
    @unknown default: return "a value is wrong"
    }
  }

  /// Where a plan is written: an older one is replaced.
  ///
  /// - Parameter source: The store that the plan tells of.
  static func output(_ path: String, like source: [String] = []) -> OutputFile {
    OutputFile(path, "a plan", like: source) { isPlan($0, at: path) }
  }

  /// A plan is one JSON object: its type is known when all of it is read.
  private static func isPlan(_ head: [UInt8], at path: String) -> Bool {
    guard head.first(where: { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }) == UInt8(ascii: "{"),
      let data = try? ReadableFile.bytes(of: path, limit: limit)
    else { return false }
    return (try? JSONDecoder().decode(Head.self, from: data))?.isPlan == true
  }
}
