import GodwitJob
import GodwitModel
import GodwitStore

extension Planner {
  /// External binary data that mappings copy, counted.
  struct ExternalCount {
    var attribute: String
    var files: Int64 = 0
    var missing: Int64 = 0
    var bytes: Int64 = 0
    /// Whether the bytes are stored in rows.
    var isInlined = false

    var note: MigrationNote {
      var text =
        "external data of \(attribute): \(files.counted("value")) in files, \(ByteCount(bytes: bytes)), "
        + (isInlined ? "stored in their rows" : "linked or copied")
      if missing > 0 { text += "; \(missing) of the files missing" }
      return MigrationNote(missing > 0 ? .externalDataMissing : .externalData, text)
    }
  }

  func externalCounts() throws -> [ExternalCount] {
    let folder = job.sourceSupport
    var counts: [ExternalCount] = []
    for mapping in resolved.entityMappings {
      for (attribute, source) in mapping.attributes {
        guard case .copy(let name) = source,
          let from = resolved.sourceModel.attribute(name, of: mapping.source.name),
          from.allowsExternalBinaryDataStorage, let table = sourceSchema.table(of: mapping.source.name),
          let column = sourceSchema.column(of: name, in: mapping.source.name).map(quoted)
        else { continue }
        let title = "\(mapping.source.name).\(name)"
        let isInlined = !attribute.allowsExternalBinaryDataStorage
        guard !counts.contains(where: { $0.attribute == title && $0.isInlined == isInlined }) else { continue }
        let objects = sourceSchema.isObject(of: [mapping.source.name])
        let walk = SourceWalk(table.name, column: "Z_PK") { functions, keys in
          let range = keys.map { "Z_PK BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
          let rows = whereClause([ExternalDataSQL.isReference(column), objects.sql, range])
          var files: Int64 = 0
          var missing: Int64 = 0
          var bytes: Int64 = 0
          try functions.connection.query("SELECT \(column) FROM source.\(quoted(table.name))\(rows)") { row in
            guard case .external(let file)? = StoredBinary(row.bytes(0)) else { return true }
            files += 1
            if let size = try folder.size(of: file) { bytes += size } else { missing += 1 }
            return true
          }
          return [files, missing, bytes].map(SQLValue.integer)
        }
        let sums = try scan.counts([walk])[0].sums(3)
        let count = ExternalCount(
          attribute: title, files: sums[0], missing: sums[1], bytes: sums[2], isInlined: isInlined)
        if count.files > 0 { counts.append(count) }
      }
    }
    return counts
  }

  /// Refuses unsupported uses of attributes whose data may lie in files, or whose form is not known.
  func checkStorage() throws {
    if job.position.isLast { try AtomicStoreWriter.check(resolved.destinationModel, as: job.destinationType) }
    if job.position.isLast, let name = destinationSchema.unknownOrders.first {
      throw GodwitError(
        .configuration,
        "cannot make a store of model '\(resolved.destinationModel.name)': how Core Data stores the order of '\(name)', an ordered to-many without an inverse, is not known",
        remedy:
          "give the relationship an inverse in the model, or name a store of this version that Core Data wrote with `layout: {from: STORE}`"
      )
    }
    for mapping in resolved.entityMappings {
      func refuse(_ what: String, try remedy: String) -> GodwitError {
        GodwitError(.configuration, what, location: mapping.mapping.location, remedy: remedy)
      }
      for (attribute, source) in mapping.attributes {
        var isExternal = attribute.allowsExternalBinaryDataStorage
        if case .copy(let name) = source, let from = resolved.sourceModel.attribute(name, of: mapping.source.name) {
          isExternal = isExternal || from.allowsExternalBinaryDataStorage
          guard
            attribute.type == .binary
              || from.allowsExternalBinaryDataStorage == attribute.allowsExternalBinaryDataStorage
          else {
            throw refuse(
              "cannot copy '\(mapping.source.name).\(name)': whether its external storage flag changes its encoding is known for binary data only",
              try: "keep the flag as it was")
          }
        } else if isExternal, attribute.type != .binary, case .expression = source {
          throw refuse(
            "cannot compute '\(mapping.destination.name).\(attribute.name)': how a \(attribute.type.xcodeName) with external storage is encoded is not known",
            try: "copy the attribute as it is")
        }
        if isExternal, mapping.mapping.uniqueBy.contains(attribute.name) {
          throw refuse(
            "cannot use unique-by '\(attribute.name)': its values may lie in external files",
            try: "name another attribute under unique-by")
        }
      }
    }
  }
}
