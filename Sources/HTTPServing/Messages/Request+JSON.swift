extension Request {
    /// Checks that the fields state a body of uncompressed JSON.
    ///
    /// - Throws: status 415.
    package func checkJSON() throws(Problem) {
        guard field("content-encoding").map({ $0.lowercased() == "identity" }) ?? true else { throw .contentEncodingRefused }
        guard let mediaType = field("content-type"), Self.isJSON(mediaType) else { throw .unsupportedMediaType }
    }

    /// True for `application/json`, in any case and with any parameters.
    private static func isJSON(_ mediaType: String) -> Bool {
        let essence = mediaType.utf8.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        return essence.elementsEqual("application/json".utf8) { $0 | 0x20 == $1 | 0x20 }
    }
}
