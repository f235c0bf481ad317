package import FoundationEssentials
import OpenSSL
import Synchronization

/// The secrets from which the secrets of all endpoints are derived: the current one and, while it is being replaced, the previous one.
package struct WebhookMasters: Hashable, Sendable {
    private static let minimumBytes = 32
    private static let salt = Array("appstore-inbox".utf8)

    private let lines: [String]

    /// Reads the text of a file: one secret a line, the current one first, at most two. Empty lines do not count.
    package init(_ text: String) throws(WebhookMastersError) {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmed }.filter { !$0.isEmpty }
        guard !lines.isEmpty else { throw WebhookMastersError("there is no secret") }
        guard lines.count <= 2 else { throw WebhookMastersError("there are \(lines.count) lines; at most two are secrets in use") }
        for (index, line) in lines.enumerated() where line.utf8.count < Self.minimumBytes {
            throw WebhookMastersError(
                "the secret in line \(index + 1) has \(line.utf8.count) bytes; it needs \(Self.minimumBytes), such as `openssl rand -base64 32` makes"
            )
        }
        guard Set(lines).count == lines.count else { throw WebhookMastersError("both lines are the same secret") }
        self.lines = lines
    }

    /// The secrets of an endpoint, one for each master.
    package func secrets(endpointID: UUID, generation: Int) -> [WebhookSecret] {
        let identity = "|\(endpointID.uuidString.lowercased())|\(generation)"
        return lines.map { line in
            func derive(_ scheme: String) -> [UInt8] {
                HKDF.sha256(Array(line.utf8), salt: Self.salt, info: Array((scheme + identity).utf8), count: 32)
            }
            return WebhookSecret(key: derive("v1"), seed: derive("v1a"))
        }
    }
}

extension WebhookMasters: CustomStringConvertible, CustomReflectable {
    /// Without the secrets.
    package var description: String { lines.count == 1 ? "a master secret" : "two master secrets" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// What is wrong with the file of the master secrets; never holds a part of one.
package struct WebhookMastersError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    fileprivate var trimmed: String {
        let start = drop { $0.isWhitespace }
        return String(start.reversed().drop { $0.isWhitespace }.reversed())
    }
}

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

/// Makes the signed fields of each attempt, and keeps the derived secrets of an endpoint.
final class DeliverySigner: Sendable {
    private struct Derived {
        let masters: WebhookMasters
        let generations: [Int]
        let secrets: [WebhookSecret]
    }

    private let endpointID: UUID
    private let derived = Mutex<Derived?>(nil)

    init(endpointID: UUID) {
        self.endpointID = endpointID
    }

    /// The fields of Standard Webhooks 1.0. Each secret that is valid signs by both schemes: that of the current generation first, for a day
    /// after a rotation that of the one before, and each with the previous master secret, too, as long as there is one.
    func headers(
        for entry: FeedEntry,
        _ body: [UInt8],
        _ settings: EndpointSettings,
        _ masters: WebhookMasters
    ) throws -> [(name: String, value: String)] {
        let id = entry.id.uuidString.lowercased()
        let timestamp = Int64(Date().timeIntervalSince1970)
        let signatures = try secrets(settings, masters).map { try $0.signature(id: id, timestamp: timestamp, body: body) }
        return [
            ("content-type", "application/json"), ("webhook-id", id), ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }

    private func secrets(_ settings: EndpointSettings, _ masters: WebhookMasters) -> [WebhookSecret] {
        let generations = [settings.secretGeneration] + (settings.hasPreviousSecret ? [settings.secretGeneration - 1] : [])
        return derived.withLock { derived in
            if let derived, derived.masters == masters, derived.generations == generations { return derived.secrets }
            let secrets = generations.flatMap { masters.secrets(endpointID: endpointID, generation: $0) }
            derived = Derived(masters: masters, generations: generations, secrets: secrets)
            return secrets
        }
    }
}
