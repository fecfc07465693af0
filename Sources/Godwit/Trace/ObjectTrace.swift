package import GodwitModel
package import GodwitStore

/// The path of an object of the source to its destination objects, or of a destination object back to its sources.
package struct ObjectTrace: Sendable, Hashable {
  /// Which store of a job an object is in.
  package enum Side: String, Sendable, Hashable, Codable, CaseIterable {
    /// The store that was migrated.
    case source
    /// The store that the job made.
    case destination
  }

  /// An object with what its store holds of it.
  package struct Object: Sendable, Hashable {
    /// Its URI; `Entity/p1` for an object of a store between two steps, which is gone.
    package var uri: String
    /// The name of its own entity.
    package var entityName: String
    /// The primary key.
    package var key: Int64
    /// The values of its attributes, by name. An attribute whose external file is missing is left out, and in an object
    /// in quarantine one whose value cannot be read.
    package var attributes: [String: AttributeValue]
    /// Large values of attributes that were left in the store, by name; empty unless that was asked for.
    package var largeValues: [String: LargeValue] = [:]
    /// The URIs of the objects that its relationships lead to, by name.
    package var relationships: [String: [String]]
  }

  /// A text or bytes that were left in a store.
  package struct LargeValue: Sendable, Hashable {
    /// The step whose source it is in; the number of steps for the destination.
    var place: Int
    package var content: ObjectReader.Large
  }

  /// An object that a mapping made of another.
  package struct Association: Sendable, Hashable {
    /// The step, from 1.
    package var step: Int
    /// The version before the step.
    package var sourceModel: String
    /// The version after the step.
    package var destinationModel: String
    /// The mapping's name.
    package var mapping: String
    /// The pass, from 1; 0 where the plan of today has no chunk for it.
    package var pass: Int
    /// The chunk among those that create the objects of the mapping, from 1; 0 where there is none.
    package var chunk: Int
    /// How many such chunks there are.
    package var chunks: Int
    /// The range of the chunk: `Person p1 to p500`.
    package var range: String
    /// The source object. With `unique-by`, the one that gave the object its key and its values.
    package var source: Object
    /// The URIs of the other source objects that became the same object, by key.
    package var merged: [String]
    /// The object. nil when the destination does not have it: something has deleted it since.
    package var destination: Object?
    /// The URI of the object, whether or not it is there.
    package var destinationURI: String
    /// The origins of the object's properties, by name: an expression, `the model's default`, or a lookup.
    package var origins: [String: String]
  }

  /// A place where a trace ends without an object.
  package struct Gap: Sendable, Hashable {
    /// Why it ends.
    package enum Reason: String, Sendable, Hashable, Codable, CaseIterable {
      /// The filter of a mapping does not accept the object.
      case filter
      /// A policy made the object or took it, and alone knows of what.
      case policy
      /// No mapping takes the objects of the entity.
      case noMapping = "no-mapping"
      /// The run has set the object aside: it is in quarantine.
      case quarantined
      /// No mapping explains the object: the application or another job made it.
      case unexplained
    }

    /// The step, from 1.
    package var step: Int
    /// The object that the trace ends at.
    package var uri: String
    /// Why it ends there.
    package var reason: Reason
    /// The mapping in question; nil where there is none.
    package var mapping: String?
    /// The reason as a sentence.
    package var message: String
  }

  /// Which store the object is in.
  package var side: Side
  /// The object that was asked for.
  package var object: Object
  /// The associations of source and destination objects. From a destination object the steps come in reverse order.
  package var associations: [Association] = []
  /// The places where the trace ends without an object.
  package var gaps: [Gap] = []
  /// Why the trace may be wrong; empty for a destination that names this very job.
  package var remarks: [String] = []
}
