import Foundation

/// An object that a thread has while a piece of work runs on it, for hooks that get no context of their own.
struct ThreadSlot<Object: AnyObject>: Sendable {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    self.key = key
  }

  /// The object of this thread; nil outside of `with`.
  var current: Object? { pthread_getspecific(key).map { Unmanaged<Object>.fromOpaque($0).takeUnretainedValue() } }

  /// Runs work that stays on this thread.
  func with<T>(_ object: Object, _ work: () throws -> T) rethrows -> T {
    pthread_setspecific(key, Unmanaged.passUnretained(object).toOpaque())
    defer { pthread_setspecific(key, nil) }
    return try withExtendedLifetime(object) { try work() }
  }
}
