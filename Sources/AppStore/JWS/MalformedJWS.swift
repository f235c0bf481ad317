/// Why bytes are no compact JWS in the form that Apple sends.
package struct MalformedJWS: Error, Hashable, Sendable {
    /// The ways in which a JWS can be malformed; each is an answer of its own to "what is wrong with it".
    package enum Code: String, CaseIterable, Sendable {
        /// Not exactly three parts, or one of them is empty.
        case parts
        case headerEncoding = "header_encoding"
        case payloadEncoding = "payload_encoding"
        case signatureEncoding = "signature_encoding"
        /// The header is no JSON object; `syntaxError` tells why.
        case headerJSON = "header_json"
        case algorithmMissing = "algorithm_missing"
        /// `crit`, `b64` or `zip` is present; each would change what is signed or how.
        case unsupportedHeader = "unsupported_header"
        /// `x5c` is absent or no array of strings.
        case certificatesMissing = "certificates_missing"
        /// An entry of `x5c` is not strict base 64.
        case certificateEncoding = "certificate_encoding"
    }

    package let code: Code
    package let syntaxError: JSONSyntaxError?

    /// That fault, with what the JSON parser found for `headerJSON`.
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
