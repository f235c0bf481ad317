import StrictJSON

/// A parsed compact JWS (RFC 7515 §3.1) whose signature is not verified.
package struct CompactJWS: Sendable {
    /// The header in base64url, as sent; equal segments are equal headers, byte for byte.
    package let headerSegment: [UInt8]
    /// The signed bytes: header and payload in base64url with the dot between them, as sent.
    package let signingInput: ArraySlice<UInt8>
    /// The decoded payload; untrusted until the signature is verified.
    package let payload: [UInt8]
    /// The decoded signature; for ES256, r and s of 32 bytes each.
    package let signature: [UInt8]

    /// Splits the JWS and decodes payload and signature; `decodeHeader` decodes the header.
    package init(_ bytes: ArraySlice<UInt8>) throws(MalformedJWS) {
        guard let (first, second) = Self.dots(in: bytes) else { throw MalformedJWS(.parts) }
        guard let payload = Base64URL.decode(bytes[(first + 1)..<second]) else { throw MalformedJWS(.payloadEncoding) }
        guard let signature = Base64URL.decode(bytes[(second + 1)...]) else { throw MalformedJWS(.signatureEncoding) }
        headerSegment = Array(bytes[..<first])
        signingInput = bytes[..<second]
        self.payload = payload
        self.signature = signature
    }

    /// Splits the JWS and decodes payload and signature; `decodeHeader` decodes the header.
    package init(_ bytes: [UInt8]) throws(MalformedJWS) {
        try self.init(bytes[...])
    }

    /// Whether text has the shape of a compact JWS: three non-empty parts in the base64url alphabet. Decodes nothing.
    package static func hasShape(_ text: String) -> Bool {
        var text = text
        return text.withUTF8(ByteScan.isCompactJWS)
    }

    /// Decodes the header and refuses members that change the meaning of the signature.
    package func decodeHeader() throws(MalformedJWS) -> JOSEHeader {
        guard let json = Base64URL.decode(headerSegment) else { throw MalformedJWS(.headerEncoding) }
        return try JOSEHeader(json)
    }

    /// The indexes of the two dots; nil unless they separate three non-empty parts.
    private static func dots(in bytes: ArraySlice<UInt8>) -> (Int, Int)? {
        let offsets: (Int, Int)? = bytes.withUnsafeBufferPointer { buffer in
            let dot = UInt8(ascii: ".")
            guard let first = ByteScan.firstIndex(of: dot, in: buffer, from: 0),
                let second = ByteScan.firstIndex(of: dot, in: buffer, from: first + 1),
                ByteScan.firstIndex(of: dot, in: buffer, from: second + 1) == nil,
                first > 0, second > first + 1, second + 1 < buffer.count
            else { return nil }
            return (first, second)
        }
        return offsets.map { (bytes.startIndex + $0.0, bytes.startIndex + $0.1) }
    }
}
