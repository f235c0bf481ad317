/// Why the parser refuses a text, and at which byte.
package struct JSONSyntaxError: Error, Hashable, Sendable {
    package enum Code: String, CaseIterable, Sendable {
        case unexpectedEnd = "unexpected_end"
        case unexpectedByte = "unexpected_byte"
        case trailingBytes = "trailing_bytes"
        case invalidNumber = "invalid_number"
        case invalidEscape = "invalid_escape"
        case loneSurrogate = "lone_surrogate"
        case controlCharacter = "control_character"
        case invalidUTF8 = "invalid_utf8"
        case duplicateMember = "duplicate_member"
        case tooDeep = "too_deep"
        case notAnObject = "not_an_object"
    }

    package let code: Code
    /// Offset in bytes from the beginning of the text.
    package let offset: Int

    package init(code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }
}

extension JSONSyntaxError: CustomStringConvertible {
    package var description: String {
        "JSON: \(code.rawValue) at byte \(offset)"
    }
}
