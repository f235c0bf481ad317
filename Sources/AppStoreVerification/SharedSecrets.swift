package import AppStore
internal import OpenSSL
package import StrictJSON

/// The shared secrets of apps, which authenticate notifications V1 and requests to verifyReceipt.
///
/// An app has several while its secret is rotated.
package struct SharedSecrets: Sendable {
    /// By bundle identifier; the first secret is used for verifyReceipt.
    private let secrets: [String: [String]]

    /// Takes the secrets by bundle identifier; the first one of an app is used for verifyReceipt. Ignores empty secrets and lists.
    package init(_ secrets: [String: [String]] = [:]) {
        self.secrets = secrets.mapValues { $0.filter { !$0.isEmpty } }.filter { !$0.value.isEmpty }
    }

    package var isEmpty: Bool { secrets.isEmpty }

    /// The number of secrets of each app.
    package var counts: [String: Int] { secrets.mapValues(\.count) }

    /// The result of comparing a body's `password`.
    package enum AuthenticationResult: Hashable, Sendable {
        /// It is one of the app's secrets.
        case authentic
        /// It is none of them, absent or repeated.
        case wrong
        /// The app that the body names has no secret.
        case notConfigured
    }

    /// Compares the body's password with every secret of the app that it names, or of all apps when it names none.
    ///
    /// Makes every comparison, each in constant time, so that timing reveals nothing about the secrets.
    package func authenticate(_ body: NotificationV1Body) -> AuthenticationResult {
        let candidates = body.bundleID.map { secrets[$0] ?? [] } ?? secrets.values.flatMap { $0 }
        guard !candidates.isEmpty else { return .notConfigured }
        guard body.passwordCount == 1, let password = body.secrets.first else { return .wrong }
        var matches = 0
        for candidate in candidates {
            matches += Digest.areEqualInConstantTime(Array(candidate.utf8), password) ? 1 : 0
        }
        return matches > 0 ? .authentic : .wrong
    }

    /// The secrets of an app, the one for verifyReceipt first; empty when there is none.
    package func secrets(of bundleID: String) -> [String] { secrets[bundleID] ?? [] }
}

extension SharedSecrets: CustomStringConvertible, CustomReflectable {
    /// The number of apps; discloses no secret.
    package var description: String { "secrets of \(secrets.count) apps" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Ids for contents without an id: SHA-256 in 64 lower-case hexadecimal digits.
package enum ContentDigest {
    /// The id of a notification V1, independent of its `password`, white space and order of members.
    package static func ofNotificationV1(_ body: JSONObject) -> String { ofBytes(CanonicalJSON.text(ofNotificationV1: body)) }

    package static func ofBytes(_ bytes: [UInt8]) -> String { hexadecimal(Digest.sha256(bytes)) }

    /// A digest as text.
    package static func hexadecimal(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
