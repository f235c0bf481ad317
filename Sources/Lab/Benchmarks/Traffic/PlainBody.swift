package import Randomness

/// Bodies of a given size that have the shape of a notification, with random content. Ingest checks only the shape.
package enum PlainBody {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// `{"signedPayload":"….….…"}` of exactly `bytes` bytes, at least 100.
    package static func make(bytes: Int, using generator: inout SeededGenerator) -> [UInt8] {
        let (open, close) = (Array(#"{"signedPayload":""#.utf8), Array(#""}"#.utf8))
        let dot = [UInt8(ascii: ".")]
        let (header, signature) = (20, 20)
        let payload = max(bytes, 100) - open.count - close.count - 2 - header - signature
        func part(_ count: Int) -> [UInt8] { (0..<count).map { _ in alphabet[Int(generator.next() % 64)] } }
        return open + part(header) + dot + part(payload) + dot + part(signature) + close
    }
}
