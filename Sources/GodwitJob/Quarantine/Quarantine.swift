public import Foundation
package import GodwitModel
package import GodwitStore
import GodwitXcode

/// How many objects a run may set aside because validation rejects them.
///
/// Both limits hold at once. `MigrationJob.quarantineURL` has the objects that were set aside.
public struct Quarantine: Sendable, Hashable {
  /// The most objects; nil for no such limit.
  package var maximumRows: Int64?
  /// The most of each hundred objects that the job takes, quarantined ones included; nil for no such limit.
  package var maximumPercent: Double?
  /// Where the manifest asks for it.
  package var location: GodwitError.Location?

  /// - Parameters:
  ///   - maximumRows: The most objects; nil for no such limit.
  ///   - maximumPercent: The most of each hundred objects that the job takes; nil for no such limit.
  public init(maximumRows: Int64? = nil, maximumPercent: Double? = nil) {
    (self.maximumRows, self.maximumPercent) = (maximumRows, maximumPercent)
  }

  /// The ending that the name of the quarantine adds to that of the destination.
  package static let suffix = ".quarantine.sqlite"

  /// The most objects that may be set aside.
  ///
  /// - Parameter taken: The objects that the job takes, those that are set aside included.
  package func limit(of taken: Int64) -> Int64 {
    var limit = max(0, maximumRows ?? .max)
    if let maximumPercent {
      // A part of an object is none, but 0.1 % of 1000 is one whatever a Double makes of it.
      let share = maximumPercent / 100 * Double(max(0, taken)) + 1e-9
      limit = min(limit, Int64(exactly: share.rounded(.down)) ?? .max)
    }
    return limit
  }
}

extension Quarantine: CustomStringConvertible {
  /// The limits in words, for example `at most 100 objects and 0.1 % of those that the job takes`.
  public var description: String {
    let rows = maximumRows?.counted("object")
    let percent = maximumPercent.map { "\($0) % of those that the job takes" }
    return "at most " + [rows, percent].compactMap(\.self).joined(separator: " and ")
  }
}

/// How many objects of each source entity are in quarantine.
package struct QuarantineCount: Sendable, Codable, Hashable {
  /// The source entity.
  package var entity: String
  /// How many objects of exactly this entity.
  package var objects: Int64

  package init(entity: String, objects: Int64) { (self.entity, self.objects) = (entity, objects) }
}

/// The store of quarantined objects: the source model, and one entity of reasons.
package enum QuarantineModel {
  /// The entity of reasons.
  package static let reasonEntity = "GodwitQuarantineReason"
  /// The key under which its metadata names the digest of the job.
  package static let jobKey = "GodwitQuarantine"
  /// The key of the digest of the source's content.
  package static let sourceKey = "GodwitQuarantineSource"
  /// The key of the digest of its objects' names: `ObjectListDigest`.
  package static let objectsKey = "GodwitQuarantineObjects"
  /// The key of the paths of the stores that were merged into the source.
  package static let mergedKey = "GodwitQuarantineMerged"
  /// The keys of the source model as Xcode's XML, and of the model's name.
  package static let modelKey = "GodwitQuarantineModel"
  package static let modelNameKey = "GodwitQuarantineModelName"

  /// The attributes of a reason, in the order of ``Reason``.
  package enum Attribute: String, CaseIterable, Sendable {
    /// The quarantined object in this store, and the same object in the source.
    case objectURI, sourceURI
    /// Its entity and primary key, which are the same in both.
    case entity, key
    /// The entity mapping and the destination entity that it makes.
    case mapping, destination
    /// The destination property that was rejected; nil for the object as a whole.
    case property
    /// The fault, in words.
    case message
    /// Which search found it, from 0: a later one finds what only the absence of others makes invalid.
    case round

    var type: AttributeType {
      switch self {
      case .key, .round: .integer64
      default: .string
      }
    }
  }

  /// - Throws: `.configuration` (78) when the source model has an entity of the reasons' name.
  package static func model(for source: ManagedObjectModel) throws -> ManagedObjectModel {
    // Their tables would have one name even if the case of the names differs.
    if let other = source.entities.first(where: { $0.name.uppercased() == reasonEntity.uppercased() }) {
      throw GodwitError(
        .configuration, "cannot quarantine objects of model '\(source.name)': it has an entity '\(other.name)'",
        remedy: "write `on-invalid: fail`")
    }
    let reason = EntityDescription(
      name: reasonEntity,
      attributes: Attribute.allCases.map {
        AttributeDescription(name: $0.rawValue, type: $0.type, isOptional: $0 == .property)
      })
    return try ManagedObjectModel(
      name: source.name, entities: source.entities + [reason], versionIdentifiers: source.versionIdentifiers)
  }

  /// The metadata by which a quarantine carries the source model.
  package static func values(carrying source: ManagedObjectModel) -> [Text: PropertyListValue] {
    [Text(modelKey): .string(source.xcodeContents), Text(modelNameKey): .string(source.name)]
  }

  /// The source model that a quarantine carries.
  ///
  /// - Throws: `.cannotCreate` (73) for a quarantine of an earlier version, which carries none.
  package static func sourceModel(in metadata: StoreMetadata, path: String) throws -> ManagedObjectModel {
    let values = metadata.applicationValues
    guard let text = values[modelKey]?.string, let name = values[modelNameKey]?.string else { throw olderForm(path) }
    return try ManagedObjectModel(xcodeContents: text, name: name, file: path)
  }

  /// The error for a quarantine of an earlier version.
  package static func olderForm(_ path: String) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot apply '\(path)': an earlier version of Godwit wrote it",
      cause: "its metadata lack the model and the digest of its source",
      remedy: "move the destination and its quarantine away, run the job again, and edit the new quarantine",
      safe: "nothing was written")
  }

  /// The digest of the job whose objects a store has in quarantine; nil for any other file.
  ///
  /// - Throws: When the file could not be read.
  package static func jobDigest(ofStoreAt path: String) throws -> String? {
    try StoreMetadata.ifStore(at: path)?.applicationValues[jobKey]?.string
  }

  /// How many objects of each entity a quarantine has, by name.
  package static func counts(ofStoreAt path: String, model source: ManagedObjectModel) throws -> [QuarantineCount] {
    let connection = try StoreConnection.openStore(readingAt: path)
    let schema = try StoreSchema(model: try model(for: source), probing: connection)
    return try source.entities.compactMap { entity in
      guard !entity.isAbstract, let table = schema.table(of: entity.name) else { return nil }
      let count = try connection.integer(
        "SELECT COUNT(*) FROM source.\(quoted(table.name))\(schema.isObject(of: [entity.name]).clause)")
      return count.flatMap { $0 > 0 ? QuarantineCount(entity: entity.name, objects: $0) : nil }
    }
  }
}

extension MigrationJob {
  /// The place of objects that validation rejects: beside the destination.
  public var quarantineURL: URL { URL(filePath: quarantinePath) }

  package var quarantinePath: String { destinationPath + Quarantine.suffix }

  /// Why the job cannot quarantine objects; nil if it can, or does not ask for it.
  ///
  /// A quarantined object must be one of the source that the user named, so a single step must read it, and only
  /// mappings may decide its fate.
  package var quarantineObstacle: GodwitError? {
    guard let quarantine else { return nil }
    func refusal(_ why: String, _ remedy: String) -> GodwitError {
      GodwitError(
        .configuration, "cannot quarantine objects: \(why)", location: quarantine.location,
        remedy: "\(remedy), or write `on-invalid: fail`", safe: "nothing was written")
    }
    let percent = quarantine.maximumPercent
    if quarantine.maximumRows == nil, percent == nil { return refusal("it has no limit", "give it one") }
    if let percent, !(0...100).contains(percent) {
      return refusal("\(percent) is not a percentage", "give a number from 0 to 100")
    }
    if let rows = quarantine.maximumRows, rows < 0 {
      return refusal("\(rows) is not a number of objects", "give 0 or more")
    }
    if isInPlace {
      return refusal("the job migrates in place", "name another destination")
    }
    if appends { return refusal("the job appends", "migrate into a separate store") }
    if replacesEarlierResult {
      return refusal("the job replaces its earlier destination", "leave out `existing: replace`")
    }
    if steps.count > 1 {
      return refusal(
        "the job runs in \(steps.count) steps, and the objects that a later step rejects are not objects of the source",
        "run each step as a job of its own")
    }
    if isStepped { return refusal("hooks run before or after the step", "run the commands beside the job") }
    let uses = policyUses.filter { $0.isRegistered || unregisteredPolicies == .fail }
    if let use = uses.first {
      return refusal("mapping '\(use.mapping)' has the policy '\(use.policy)'", "replace the policy by expressions")
    }
    do { _ = try QuarantineModel.model(for: sourceModel) } catch let error as GodwitError {
      var error = error
      error.location = error.location ?? quarantine.location
      return error
    } catch { return nil }
    return nil
  }
}
