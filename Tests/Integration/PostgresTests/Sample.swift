import Foundation
import Postgres
import Randomness

/// Random values of all bindable types.
struct Sample {
    var bool: Bool?
    var int16: Int16
    var int32: Int32?
    var int64: Int64
    var double: Double
    var text: String
    var uuid: UUID?
    var bytes: [UInt8]
    var timestamp: PostgresTimestamp
    var texts: [String?]
    var int64s: [Int64]
    var int32s: [Int32?]
    var bools: [Bool?]
    var uuids: [UUID?]
    var byteses: [[UInt8]]
    var timestamps: [PostgresTimestamp?]

    init(using generator: inout SeededGenerator) {
        bool = Self.maybe(&generator) { Bool.random(using: &$0) }
        int16 = .random(in: .min ... .max, using: &generator)
        int32 = Self.maybe(&generator) { .random(in: .min ... .max, using: &$0) }
        int64 = .random(in: .min ... .max, using: &generator)
        double = .random(in: -1e300...1e300, using: &generator)
        text = Self.text(&generator)
        uuid = Self.maybe(&generator, Self.uuid)
        bytes = Self.bytes(&generator)
        timestamp = Self.timestamp(&generator)
        texts = Self.many(&generator) { Self.maybe(&$0, Self.text) }
        int64s = Self.many(&generator) { .random(in: .min ... .max, using: &$0) }
        int32s = Self.many(&generator) { Self.maybe(&$0) { .random(in: .min ... .max, using: &$0) } }
        bools = Self.many(&generator) { Self.maybe(&$0) { Bool.random(using: &$0) } }
        uuids = Self.many(&generator) { Self.maybe(&$0, Self.uuid) }
        byteses = Self.many(&generator, Self.bytes)
        timestamps = Self.many(&generator) { Self.maybe(&$0, Self.timestamp) }
    }

    var statement: Statement {
        """
        SELECT \(bool), \(int16), \(int32), \(int64), \(double), \(text), \(uuid), \(bytes), \(timestamp),
          \(texts), \(int64s), \(int32s), \(bools), \(uuids), \(byteses), \(timestamps)
        """
    }

    func matches(_ row: Row) throws -> Bool {
        func same<T: PostgresDecodable & Equatable>(_ position: Int, _ value: T) throws -> Bool { try row.decode(position) == value }
        let scalars =
            try same(0, bool) && same(1, int16) && same(2, int32) && same(3, int64) && same(4, double) && same(5, text)
            && same(6, uuid) && same(7, bytes) && same(8, timestamp)
        let arrays =
            try same(9, texts) && same(10, int64s) && same(11, int32s) && same(12, bools) && same(13, uuids) && same(14, byteses)
            && same(15, timestamps)
        return scalars && arrays
    }
}

extension Sample {
    private static func maybe<T>(_ generator: inout SeededGenerator, _ make: (inout SeededGenerator) -> T) -> T? {
        Int.random(in: 0..<4, using: &generator) == 0 ? nil : make(&generator)
    }

    private static func many<T>(_ generator: inout SeededGenerator, _ make: (inout SeededGenerator) -> T) -> [T] {
        (0..<Int.random(in: 0..<6, using: &generator)).map { _ in make(&generator) }
    }

    private static func text(_ generator: inout SeededGenerator) -> String {
        let alphabet = Array("aZ'\"\\;$1{}, \n\téß漢🦊\u{7F}\u{1}")
        return String((0..<Int.random(in: 0..<12, using: &generator)).map { _ in alphabet.randomElement(using: &generator) ?? "a" })
    }

    private static func bytes(_ generator: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0..<40, using: &generator)).map { _ in .random(in: 0...255, using: &generator) }
    }

    private static func uuid(_ generator: inout SeededGenerator) -> UUID {
        var bytes = (generator.next(), generator.next())
        return withUnsafeBytes(of: &bytes) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    private static func timestamp(_ generator: inout SeededGenerator) -> PostgresTimestamp {
        PostgresTimestamp(millisecondsSince1970: .random(in: -62_000_000_000_000...253_402_300_799_999, using: &generator))
    }
}
