import AppStore
import ArgumentParser

extension CompletionKind {
    static var environments: CompletionKind { .list(KnownWords.environments.words) }

    static var notificationTypes: CompletionKind { .list(NotificationMatrix.subtypes.keys.map(\.rawValue).sorted()) }

    /// The raw values of all cases.
    static func values<Value: CaseIterable & RawRepresentable>(of type: Value.Type) -> CompletionKind where Value.RawValue == String {
        .list(Value.allCases.map(\.rawValue))
    }
}
