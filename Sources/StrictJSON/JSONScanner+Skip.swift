extension JSONScanner {
    /// Checks the grammar of a value and skips it; does not detect duplicate names inside it.
    package mutating func skipValue(remainingDepth: Int) throws(JSONSyntaxError) {
        skipWhitespace()
        switch next {
        case UInt8(ascii: "\""):
            _ = accept(UInt8(ascii: "\""))
            _ = try scanText()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard remainingDepth > 0 else { throw error(.tooDeep) }
            try skipContainer(remainingDepth: remainingDepth - 1)
        case UInt8(ascii: "t"): try scanLiteral("true")
        case UInt8(ascii: "f"): try scanLiteral("false")
        case UInt8(ascii: "n"): try scanLiteral("null")
        default: _ = try scanNumber()
        }
    }

    private mutating func skipContainer(remainingDepth: Int) throws(JSONSyntaxError) {
        let isObject = accept(UInt8(ascii: "{"))
        if !isObject { try expect(UInt8(ascii: "[")) }
        let end = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        if accept(end) { return }
        repeat {
            if isObject {
                try expect(UInt8(ascii: "\""))
                _ = try scanText()
                try expect(UInt8(ascii: ":"))
            }
            try skipValue(remainingDepth: remainingDepth)
        } while accept(UInt8(ascii: ","))
        try expect(end)
    }
}
