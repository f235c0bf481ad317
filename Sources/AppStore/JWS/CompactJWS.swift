package import StrictJSON

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

/// The members of a JWS header that verification uses: the algorithm and the certificates.
///
/// Ignores `jwk`, `jku`, `x5u`, `kid` and unknown members: trust comes from configured roots alone.
package struct JOSEHeader: Hashable, Sendable {
    /// The algorithm's name as sent, unchecked.
    package let alg: String
    /// The certificates in DER, leaf first; their number is unchecked.
    package let x5c: [[UInt8]]

    package init(_ json: [UInt8]) throws(MalformedJWS) {
        let object: JSONObject
        do {
            object = try JSONParser().parseObject(json)
        } catch {
            throw MalformedJWS(.headerJSON, syntaxError: error)
        }
        // RFC 7515 §4.1.11: a critical member must be understood. `b64` (RFC 7797) and `zip` change which bytes are signed.
        for name in ["crit", "b64", "zip"] where object[name] != nil { throw MalformedJWS(.unsupportedHeader) }
        guard case .string(let alg)? = object["alg"] else { throw MalformedJWS(.algorithmMissing) }
        guard case .array(let entries)? = object["x5c"] else { throw MalformedJWS(.certificatesMissing) }
        self.alg = alg
        var certificates: [[UInt8]] = []
        for entry in entries {
            guard case .string(let text) = entry else { throw MalformedJWS(.certificatesMissing) }
            guard let der = Base64.decode(text) else { throw MalformedJWS(.certificateEncoding) }
            certificates.append(der)
        }
        x5c = certificates
    }
}

/// Why bytes are not a compact JWS in Apple's form.
package struct MalformedJWS: Error, Hashable, Sendable {
    package enum Code: String, CaseIterable, Sendable {
        /// Not exactly three parts, or one of them is empty.
        case parts
        case headerEncoding = "header_encoding"
        case payloadEncoding = "payload_encoding"
        case signatureEncoding = "signature_encoding"
        /// The header is not a JSON object; see `syntaxError`.
        case headerJSON = "header_json"
        case algorithmMissing = "algorithm_missing"
        /// `crit`, `b64` or `zip` is present; each changes the meaning of the signature.
        case unsupportedHeader = "unsupported_header"
        /// `x5c` is absent or not an array of strings.
        case certificatesMissing = "certificates_missing"
        /// An entry of `x5c` is not strict Base64.
        case certificateEncoding = "certificate_encoding"
    }

    package let code: Code
    /// The parser's error, for `headerJSON`.
    package let syntaxError: JSONSyntaxError?

    package init(_ code: Code, syntaxError: JSONSyntaxError? = nil) {
        self.code = code
        self.syntaxError = syntaxError
    }
}

extension MalformedJWS: CustomStringConvertible {
    package var description: String {
        let cause = syntaxError.map { " (\($0))" } ?? ""
        return "JWS: \(code.rawValue)\(cause)"
    }
}

extension ByteScan {
    /// Whether the bytes are three non-empty parts of base64url characters, separated by dots.
    ///
    /// Checks the alphabet only; the verifier decodes the parts.
    static func isCompactJWS(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let dot = UInt8(ascii: ".")
        guard let first = firstIndex(of: dot, in: bytes, from: 0), let second = firstIndex(of: dot, in: bytes, from: first + 1),
            first > 0, second > first + 1, second + 1 < bytes.count
        else { return false }
        return isBase64URL(bytes[..<first]) && isBase64URL(bytes[(first + 1)..<second]) && isBase64URL(bytes[(second + 1)...])
    }

    /// No branches and no early exit, so that the compiler vectorizes the loop.
    private static func isBase64URL(_ slice: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let bytes = UnsafeBufferPointer(rebasing: slice)
        var isValid: UInt8 = 1
        for index in 0..<bytes.count {
            let byte = bytes[index]
            let isLetter = one(if: (byte | 0x20) &- UInt8(ascii: "a") < 26)
            let isDigit = one(if: byte &- UInt8(ascii: "0") < 10)
            isValid &= isLetter | isDigit | one(if: byte == UInt8(ascii: "-")) | one(if: byte == UInt8(ascii: "_"))
        }
        return isValid == 1
    }

    @inline(__always)
    private static func one(if condition: Bool) -> UInt8 {
        condition ? 1 : 0
    }
}

/// One JWS of a body, decoded as far as that goes. Nothing vouches for it here: a forgery is shown like anything else.
package struct SignedPart {
    /// `signedPayload` for the outermost, else the path of the member that holds it, such as `data.signedTransactionInfo`.
    package let location: String
    package let kind: SignedPayloadKind?
    /// Nil when it cannot be decoded.
    package let payload: JSONObject?
    /// Why it cannot be decoded.
    package let problem: String?

    /// The JWS and those in it, outermost first.
    package static func all(in jws: ArraySlice<UInt8>) -> [SignedPart] {
        let outer = SignedPart(jws, at: "signedPayload")
        return [outer] + (outer.payload.map { all(in: $0) } ?? [])
    }

    /// Each JWS in a payload, and those in it.
    ///
    /// - Parameter path: of the payload, with a dot at its end.
    package static func all(in payload: JSONObject, at path: String = "") -> [SignedPart] {
        payload.members.flatMap { all(in: $0.value, at: path + $0.name) }
    }

    private static func all(in value: JSONValue, at path: String) -> [SignedPart] {
        switch value {
        case .object(let object): return all(in: object, at: path + ".")
        case .array(let elements): return elements.enumerated().flatMap { all(in: $1, at: "\(path)[\($0)]") }
        case .string(let text) where text.isJWS:
            let part = SignedPart(Array(text.utf8)[...], at: path)
            return [part] + (part.payload.map { all(in: $0, at: path + ".") } ?? [])
        case .string, .number, .bool, .null: return []
        }
    }

    private init(_ jws: ArraySlice<UInt8>, at location: String) {
        self.location = location
        do {
            let object = try JSONParser().parseObject(try CompactJWS(jws).payload)
            payload = object
            kind = SignedPayloadKind.of(object)
            problem = nil
        } catch {
            payload = nil
            kind = nil
            problem = "\(error)"
        }
    }
}

extension String {
    /// Whether it is taken for a JWS where text of any kind may stand; a short one, such as a version with two dots, is not.
    package var isJWS: Bool { utf8.count > 100 && CompactJWS.hasShape(self) }
}
