package import FoundationEssentials
import OpenSSL

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
