import Foundation
package import GodwitModel

/// A format of atomic stores, for one store that is written.
protocol AtomicStoreFormat: AnyObject {
  /// The bytes that were written so far.
  var writtenBytes: Int64 { get }

  /// - Parameter metadata: The metadata without the type and the identifier of the store.
  func begin(_ metadata: [Text: PropertyListValue], uuid: String) throws
  func write(_ object: ObjectReader.Object) throws
  /// Ends the file and syncs it.
  func finish() throws
}

/// Writes a SQLite store out as an atomic store, XML or binary.
///
/// Equal stores give equal bytes: entities go in the order of their numbers, objects by key, properties by name. Memory
/// holds one object and pieces of 64 KiB. Binary data is inline, whatever the model allows beside the store. For the
/// numbers of objects see `AtomicStoreKeys`.
package struct AtomicStoreWriter {
  private let model: ManagedObjectModel
  private let type: StoreType
  private let reader: ObjectReader
  private let metadata: StoreMetadata
  private let keys: AtomicStoreKeys
  /// The name of the new store in messages.
  private let name: String

  /// - Throws: `.configuration` (78) when a store of the type cannot hold objects of the model: see
  ///   `XMLStoreNames.init` and `StoreType.checkComposites`.
  package static func check(_ model: ManagedObjectModel, as type: StoreType) throws {
    switch type {
    case .sqlite: break
    case .xml: _ = try XMLStoreNames(model: model)
    case .binary: try type.checkComposites(of: model)
    }
  }

  /// Opens a finished store for reading.
  ///
  /// - Parameters:
  ///   - model: The model of the store.
  ///   - type: The type of the new store.
  ///   - name: The name of the new store in messages.
  /// - Throws: as `check`; `.dataWrong` (65) when primary keys
  ///   cannot be made unique; as `ObjectReader.init`.
  package init(
    readingStoreAt path: String, model: ManagedObjectModel, as type: StoreType = .xml, name: String
  ) throws {
    try Self.check(model, as: type)
    (self.model, self.type, self.name) = (model, type, name)
    let connection = try StoreConnection.openStore(readingAt: path, cache: .mebibytes(8))
    try connection.execute("PRAGMA temp_store = FILE")
    metadata = try StoreMetadata(reading: connection, path: path)
    reader = try ObjectReader(path: path, model: model)
    keys = try AtomicStoreKeys(connection, schema: reader.schema, type: type, path: name)
  }

  /// Writes a file; one that is there is replaced.
  ///
  /// - Parameter progress: Called at the beginning and after a thousand objects or a mebibyte, with the number of
  ///   objects written and that of all; what it throws ends the writing.
  /// - Throws: `.dataWrong` (65) naming the object and attribute when the format cannot hold a value, or an external
  ///   file is missing; the same for metadata that the format cannot hold; `.inputOutput` (74) when the disk is full.
  package func write(to path: String, progress: (_ objects: Int64, _ total: Int64) throws -> Void = { _, _ in }) throws
  {
    try progress(0, keys.objects)
    let format: any AtomicStoreFormat =
      switch type {
      case .binary: try BinaryStoreFormat(path: path, model: model, keys: keys, name: name)
      default: try XMLStoreFormat(path: path, model: model, keys: keys, name: name)
      }
    var values = metadata.atomicValues
    values[AtomicStoreKeys.metadataKey] =
      keys.offsets.isEmpty ? nil : .dictionary(keys.offsets.mapValues { .integer($0) })
    try format.begin(values, uuid: metadata.uuid)
    var count: Int64 = 0
    var told: (objects: Int64, bytes: Int64) = (0, 0)
    for table in reader.schema.tables {
      let family = model.family(of: table.rootEntityName).map(\.name)
      try reader.forEachObject(of: family) { object in
        try check(object)
        try format.write(object)
        count += 1
        if count - told.objects >= 1024 || format.writtenBytes - told.bytes >= 1 << 20 {
          told = (count, format.writtenBytes)
          try progress(count, keys.objects)
        }
        return true
      }
    }
    try format.finish()
  }

  private func check(_ object: ObjectReader.Object) throws {
    for (property, value) in object.properties {
      switch value {
      case .large: throw GodwitError(.internalBug, "cannot write '\(name)': a large value was not read")
      case .missingFile(let external):
        throw GodwitError(
          .dataWrong, "cannot write '\(name)': the external file '\(external)' is missing",
          context: "attribute '\(property)' of \(object.reference.entity) p\(object.reference.key)",
          remedy: "restore the file")
      case .attribute, .toOne, .toMany: break
      }
    }
  }
}

extension AtomicStoreKeys {
  /// The number of an object.
  func number(of reference: ObjectReader.Reference, in model: ManagedObjectModel) -> Int64 {
    number(reference.key, root: model.root(of: reference.entity)?.name ?? reference.entity)
  }
}
