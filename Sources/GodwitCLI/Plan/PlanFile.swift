import Foundation
import GodwitModel
import GodwitPlatform

/// A plan in a file: what `godwit plan -o` writes, and `--diff` and `godwit run --plan` read.
enum PlanFile {
  /// A plan of ten thousand mappings has a tenth of it.
  private static let limit = 256 << 20

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
    var info = stat()
    guard stat(path, &info) == 0 else {
      throw GodwitError(
        errno == EACCES ? .permission : .missingInput,
        "cannot read the plan '\(path)': \(String(cString: strerror(errno)))",
        remedy: "name a file that `godwit plan -o FILE` or `godwit plan --format json` wrote")
    }
    guard info.st_mode & S_IFMT == S_IFREG else { throw notAPlan(path, "it is not a file") }
    guard info.st_size <= limit else { throw notAPlan(path, "it is larger than \(ByteCount(bytes: Int64(limit)))") }
    do { return try Data(contentsOf: URL(filePath: path)) } catch {
      throw GodwitError(
        access(path, R_OK) == 0 ? .missingInput : .permission,
        "cannot read the plan '\(path)': \(error.localizedDescription)",
        remedy: "check the file and its permissions")
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

  /// Writes a plan, all of it or nothing. A plan at the path is replaced, anything else refused (73).
  static func write(_ text: String, to path: String) throws {
    try ExportFile.write(text, to: path, replaces: try mayReplace(path))
  }

  /// Whether a plan is at the path.
  ///
  /// - Throws: 73 when something else is there.
  static func mayReplace(_ path: String) throws -> Bool {
    var info = stat()
    guard lstat(path, &info) == 0 else { return false }
    let isFile = info.st_mode & S_IFMT == S_IFREG && info.st_size <= limit
    if isFile, let data = try? Data(contentsOf: URL(filePath: path)),
      let head = try? JSONDecoder().decode(Head.self, from: data), head.isPlan
    {
      return true
    }
    throw GodwitError(
      .cannotCreate, "cannot write the plan to '\(path)': what is there is not a plan",
      remedy: "name another file with -o, or remove that one", safe: "nothing was written")
  }
}
