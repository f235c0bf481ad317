import StrictJSON

/// The body that Apple posts for a notification V2: `{"signedPayload": "<compact JWS>"}`.
///
/// Ingest and the worker both use this reader, so they accept the same bodies. It decodes and verifies nothing. The bytes are untrusted:
/// it allocates nothing for members that it skips.
package enum NotificationBody {
    /// Why a body is not a notification.
    package enum Refusal: String, Error, CaseIterable, Sendable {
        /// Not JSON, or JSON that ``JSONParser`` refuses (depth, UTF-8, a repeated member).
        case notJSON = "not_json"
        /// JSON, but not an object.
        case notAnObject = "not_an_object"
        /// `signedPayload` is absent or not a string.
        case noSignedPayload = "no_signed_payload"
        /// `signedPayload` is not three non-empty parts in the base64url alphabet.
        case notACompactJWS = "not_a_compact_jws"
    }

    private static let maximumDepth = 32

    /// The JWS in a body: a slice, or a copy when the string has escapes.
    package static func signedPayload(in body: [UInt8]) throws(Refusal) -> ArraySlice<UInt8> {
        let location = try body.withUnsafeBufferPointer { bytes throws(Refusal) in try locate(in: bytes) }
        switch location {
        case .inPlace(let range): return body[range]
        case .unescaped(let bytes): return bytes[...]
        }
    }

    /// Throws when the body is not a notification, exactly as `signedPayload(in:)` does.
    package static func check(_ body: UnsafeRawBufferPointer) throws(Refusal) {
        _ = try body.withMemoryRebound(to: UInt8.self) { bytes throws(Refusal) in try locate(in: bytes) }
    }

    private enum Location {
        case inPlace(Range<Int>)
        case unescaped([UInt8])
    }

    private static func locate(in body: UnsafeBufferPointer<UInt8>) throws(Refusal) -> Location {
        let found: Location?
        do {
            var scanner = JSONScanner(body)
            scanner.skipWhitespace()
            guard scanner.next == UInt8(ascii: "{") else {
                try scanner.skipValue(remainingDepth: maximumDepth)
                try scanner.expectEnd()
                throw Refusal.notAnObject
            }
            found = try findMember(&scanner)
            try scanner.expectEnd()
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw .notJSON
        }
        guard let found else { throw .noSignedPayload }
        let isCompactJWS =
            switch found {
            case .inPlace(let range): ByteScan.isCompactJWS(UnsafeBufferPointer(rebasing: body[range]))
            case .unescaped(let bytes): bytes.withUnsafeBufferPointer(ByteScan.isCompactJWS)
            }
        guard isCompactJWS else { throw .notACompactJWS }
        return found
    }

    /// Reads the whole object and returns the location of the string `signedPayload`.
    private static func findMember(_ scanner: inout JSONScanner) throws(JSONSyntaxError) -> Location? {
        var found: Location?
        var wasSeen = false
        try scanner.expect(UInt8(ascii: "{"))
        if scanner.accept(UInt8(ascii: "}")) { return nil }
        repeat {
            try scanner.expect(UInt8(ascii: "\""))
            let offset = scanner.position
            let name = try scanner.scanText()
            try scanner.expect(UInt8(ascii: ":"))
            guard name == "signedPayload" else {
                try scanner.skipValue(remainingDepth: maximumDepth - 1)
                continue
            }
            if wasSeen { throw scanner.error(.duplicateMember, at: offset) }
            wasSeen = true
            guard scanner.accept(UInt8(ascii: "\"")) else {
                try scanner.skipValue(remainingDepth: maximumDepth - 1)
                continue
            }
            found = try scanLocation(&scanner)
        } while scanner.accept(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        return found
    }

    private static func scanLocation(_ scanner: inout JSONScanner) throws(JSONSyntaxError) -> Location {
        let start = scanner.position
        let (content, hasEscapes) = try scanner.scanString()
        guard hasEscapes else { return .inPlace(start..<start + content.count) }
        return .unescaped(try scanner.unescape(content, offset: start))
    }
}
