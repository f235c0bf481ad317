import FoundationEssentials
import OpenSSL

/// The secrets of an endpoint in one generation, as Standard Webhooks 1.0 writes them.
package struct WebhookSecret: Sendable {
    private let key: [UInt8]
    private let signer: Ed25519Key

    /// - Parameter seed: 32 bytes.
    init(key: [UInt8], seed: [UInt8]) {
        self.key = key
        do throws(OpenSSLError) {
            signer = try Ed25519Key(seed: seed)
        } catch {
            preconditionFailure("libcrypto has no Ed25519: \(error)")
        }
    }

    /// The secret that a receiver verifies scheme `v1` with: `whsec_…`.
    package var symmetric: String { "whsec_" + Self.base64(key) }

    /// The key that a receiver verifies scheme `v1a` with: `whpk_…`. It is no secret.
    package var publicKey: String { "whpk_" + Self.base64(signer.publicKey) }

    /// The signatures of a message by both schemes, separated by a space: a part of the value of `webhook-signature`.
    ///
    /// - Parameters:
    ///   - id: the value of `webhook-id`.
    ///   - timestamp: the value of `webhook-timestamp`, in seconds since 1970.
    package func signature(id: String, timestamp: Int64, body: [UInt8]) throws -> String {
        let content = Array("\(id).\(timestamp).".utf8) + body
        return "v1,\(Self.base64(HMAC.sha256(content, key: key))) v1a,\(Self.base64(try signer.sign(content)))"
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}

extension WebhookSecret: CustomStringConvertible, CustomReflectable {
    /// Without the secrets.
    package var description: String { "the secrets of an endpoint" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}
