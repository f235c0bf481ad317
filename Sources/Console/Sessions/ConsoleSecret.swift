import AppStore
import OpenSSL

/// 256 random bits: the token in a link, or the secret in a session's cookie. The database has only its SHA-256.
package struct ConsoleSecret: Sendable, CustomStringConvertible {
    private static let byteCount = 32

    /// 43 characters of base64url.
    package let text: String

    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        text = String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    /// Nil for a text that has another form.
    init?(_ text: String) {
        guard Base64URL.decode(Array(text.utf8))?.count == Self.byteCount else { return nil }
        self.text = text
    }

    /// The SHA-256 of `text`.
    package var hash: [UInt8] { Digest.sha256(Array(text.utf8)) }

    package var description: String { "a secret of the console" }
}
