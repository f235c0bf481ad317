package import AppStore
internal import OpenSSL

/// The shared secrets of apps: what vouches for a notification V1, and what verifyReceipt is asked with. Several of an app are in force
/// while it changes from one to the next.
package struct SharedSecrets: Sendable {
    /// By bundle identifier, the one to ask with first.
    private let secrets: [String: [String]]

    /// Takes those of each app, the one to ask with first; an app without any is as good as not named.
    package init(_ secrets: [String: [String]] = [:]) {
        self.secrets = secrets.mapValues { $0.filter { !$0.isEmpty } }.filter { !$0.value.isEmpty }
    }

    package var isEmpty: Bool { secrets.isEmpty }

    /// How many there are of each app.
    package var counts: [String: Int] { secrets.mapValues(\.count) }

    /// What a body's `password` makes of it.
    package enum Judgement: Hashable, Sendable {
        /// It is one of the app's secrets.
        case authentic
        /// It is none of them, it is missing, or it is there more than once.
        case wrong
        /// There is no secret of the app that the body names.
        case notConfigured
    }

    /// Compares the body's password with every secret of the app that it names, or of all apps when it names none.
    ///
    /// Each comparison takes the same time whatever is equal, and all of them are made whichever one matches.
    package func judge(_ body: NotificationV1Body) -> Judgement {
        let candidates = body.bundleID.map { secrets[$0] ?? [] } ?? secrets.values.flatMap { $0 }
        guard !candidates.isEmpty else { return .notConfigured }
        guard body.passwordCount == 1, let password = body.secrets.first else { return .wrong }
        var matches = 0
        for candidate in candidates {
            matches += Digest.areEqualInConstantTime(Array(candidate.utf8), password) ? 1 : 0
        }
        return matches > 0 ? .authentic : .wrong
    }

    /// The secrets of an app, the one to ask with first; empty when there is none.
    package func secrets(of bundleID: String) -> [String] { secrets[bundleID] ?? [] }
}

extension SharedSecrets: CustomStringConvertible, CustomReflectable {
    /// How many there are, and nothing of them.
    package var description: String { "secrets of \(secrets.count) apps" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
