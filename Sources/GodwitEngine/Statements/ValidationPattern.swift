package import Foundation
package import GodwitModel

/// The regular expression of an attribute of either model, by which values are validated.
package struct ValidationPattern: Sendable, Hashable {
  private let text: String
  /// The attribute, for example `Person.code`, by the entity that declares it.
  private let owner: String
  private let modelName: String
  /// The place in the model's file, where the expression does not compile and the file has lines.
  private let location: GodwitError.Location?

  /// - Parameter entity: An entity that has the attribute, declared or inherited.
  package init(_ text: String, of attribute: String, in entity: String, _ model: ManagedObjectModel) {
    self.text = text
    owner = "\(model.declaringEntity(of: attribute, in: entity)?.name ?? entity).\(attribute)"
    modelName = model.name
    let names = model.lineage(of: entity).map { "\($0.name).\(attribute)" }
    location = model.remarks.first { $0.brokenPattern.map(names.contains) == true }?.location
  }

  /// The expression, anchored at both ends, so that a shorter alternative does not hide the whole match.
  ///
  /// - Throws: `.missingInput` (66) naming the attribute and its place, for one that does not compile.
  package func compiled() throws -> NSRegularExpression {
    do { return try NSRegularExpression(pattern: "\\A(?:\(text))\\z") } catch {
      throw GodwitError(
        .missingInput,
        "cannot use the regular expression of '\(owner)' in model '\(modelName)': it does not compile",
        location: location, remedy: "correct the expression '\(text.prefix(100))' in the model")
    }
  }
}

extension ValidationPattern {
  /// The attributes of an entity that are validated by a regular expression that does not compile.
  package static func broken(in entity: String, of model: ManagedObjectModel) -> [AttributeDescription] {
    model.attributes(of: entity).filter { attribute in
      guard let text = attribute.regularExpression, !attribute.isTransient, !attribute.isDerived else { return false }
      return (try? ValidationPattern(text, of: attribute.name, in: entity, model).compiled()) == nil
    }
  }
}
