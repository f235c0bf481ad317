import AppStore
import OpenSSL

/// A bearer key of 256 random bits. The user sees it once; the database stores only its SHA-256.
package struct APIKey: Sendable, CustomStringConvertible {
    /// The prefix by which secret scanners recognise a leaked key.
    private static let prefix = "asinbox_"
    private static let byteCount = 32

    /// The key as a client sends it: the prefix and 43 characters of base64url.
    package let text: String

    /// Generates a key.
    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        text = Self.prefix + String(decoding: Base64URL.encode(bytes), as: UTF8.self)
    }

    /// Parses a key from a request; nil for malformed text.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix),
            Base64URL.decode(Array(text.utf8.dropFirst(Self.prefix.utf8.count)))?.count == Self.byteCount
        else { return nil }
        self.text = text
    }

    /// The SHA-256 of `text`, by which the database stores and finds the key.
    package var hash: [UInt8] { Digest.sha256(Array(text.utf8)) }

    package var description: String { "a key" }
}
