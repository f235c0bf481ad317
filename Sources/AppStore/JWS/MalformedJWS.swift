package import StrictJSON

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
