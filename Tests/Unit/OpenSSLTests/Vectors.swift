import Foundation

/// Public test vectors outside this repository. `APPSTORE_INBOX_VECTORS` is the folder that contains `wycheproof/` and `x509-limbo/`.
enum Vectors {
    static let folder = ProcessInfo.processInfo.environment["APPSTORE_INBOX_VECTORS"]
    static let arePresent = folder != nil

    static func load<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws -> Value {
        let url = URL(fileURLWithPath: folder ?? "").appending(path: path)
        return try JSONDecoder().decode(type, from: Data(contentsOf: url))
    }
}

/// Bytes written as hexadecimal digits.
struct HexBytes: Decodable {
    let bytes: [UInt8]

    init(_ digits: String) {
        let values = digits.compactMap { $0.hexDigitValue.map(UInt8.init) }
        bytes = stride(from: 0, to: values.count - 1, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }
}
