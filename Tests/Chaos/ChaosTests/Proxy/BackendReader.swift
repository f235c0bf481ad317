/// Parses the server's messages, to know when it has answered a Sync.
struct BackendReader {
    /// The number of ReadyForQuery messages.
    private(set) var answers = 0
    private var head: [UInt8] = []
    private var remaining = 0

    /// Parses the next bytes.
    mutating func feed(_ bytes: [UInt8]) {
        var index = 0
        while index < bytes.count {
            if remaining == 0 {
                head.append(bytes[index])
                index += 1
                guard head.count == 5 else { continue }
                remaining = head.suffix(4).reduce(0) { $0 << 8 | Int($1) } - 4
            } else {
                let count = min(remaining, bytes.count - index)
                index += count
                remaining -= count
            }
            if remaining == 0 {
                if head[0] == UInt8(ascii: "Z") { answers += 1 }
                head = []
            }
        }
    }
}
