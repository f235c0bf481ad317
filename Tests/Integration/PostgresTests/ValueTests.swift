import Foundation
import Postgres
import Randomness
import Testing

@Suite struct ValueTests {
    @Test func `random values are read as they were sent`() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        try await withConnection { connection, _ in
            for _ in 0..<100 {
                let sample = Sample(using: &generator)
                let row = try await connection.query(sample.statement)[0]
                try #expect(sample.matches(row), "seed \(seed)")
            }
        }
    }

    @Test func `the server reads each type correctly`() async throws {
        let id = UUID()
        try await withConnection { connection, _ in
            let row = try await connection.query(
                """
                SELECT \(true)::text, \(Int16(-7))::text, \(Int32(-7))::text, \(Int64.min)::text, \("ä")::text, \(id)::text,
                  encode(\([0, 255] as [UInt8]), 'hex'), \(PostgresTimestamp(millisecondsSince1970: 1_600_000_000_123))::text,
                  \(JSONText(#"{"a": [1, null]}"#))::text, \([nil, "x", ""] as [String?])::text, \([[1], []] as [[UInt8]])::text,
                  pg_typeof(\([1] as [Int64]))::text, array_lower(\([1, 2] as [Int32]), 1)::text, \(0.5)::text, \(Duration.milliseconds(-90_061_500))::text
                """
            )[0]
            let expected = [
                "true", "-7", "-7", "-9223372036854775808", "ä", id.uuidString.lowercased(), "00ff",
                "2020-09-13 12:26:40.123+00", #"{"a": [1, null]}"#, #"{NULL,x,""}"#, #"{"\\x01","\\x"}"#, "bigint[]", "1", "0.5",
                "-25:01:01.5",
            ]
            for (position, text) in expected.enumerated() {
                #expect(try row.decode(position, as: String.self) == text)
            }
        }
    }

    @Test func `an interval is read as a duration, of whose days each has 24 hours`() async throws {
        try await withConnection { connection, _ in
            let row = try await connection.query(
                "SELECT interval '-1 day 00:00:00.000001' AS days, \(Duration.seconds(7)) AS sent, interval '1 month' AS month"
            )[0]
            #expect(try row.decode("days", as: Duration.self) == .microseconds(-86_399_999_999))
            #expect(try row.decode("sent", as: Duration?.self) == .seconds(7))
            let error = #expect(throws: PostgresError.self) { try row.decode("month", as: Duration.self) }
            #expect(error?.message == #"column "month": has months"#)
            let tooLong = try await postgresError { try await connection.query("SELECT \(Duration.seconds(Int64.max))") }
            #expect(tooLong.code == .invalidBind)
        }
    }

    @Test func `arrays unnest side by side`() async throws {
        try await withConnection { connection, _ in
            let rows = try await connection.query(
                """
                SELECT * FROM unnest(\([1, 2, 3] as [Int64]), \(["a", nil, "c"] as [String?]), \([nil, true, false] as [Bool?]))
                  WITH ORDINALITY AS t(id, name, flag, n) ORDER BY n
                """
            )
            let decoded = try rows.map { row in try row.decode((Int64.self, String?.self, Bool?.self)) }
            #expect(decoded.map(\.0) == [1, 2, 3])
            #expect(decoded.map(\.1) == ["a", nil, "c"])
            #expect(decoded.map(\.2) == [nil, true, false])
        }
    }

    @Test func `decoding NULL as a non-optional type is an error`() async throws {
        try await withConnection { connection, _ in
            let row = try await connection.query("SELECT NULL::text AS name, ARRAY[1, NULL]::int8[] AS ids")[0]
            #expect(try row.decode("name", as: String?.self) == nil)
            #expect(try row.decode("ids", as: [Int?].self) == [1, nil])
            let scalar = #expect(throws: PostgresError.self) { try row.decode("name", as: String.self) }
            #expect(scalar?.description == #"column "name": is NULL"#)
            let element = #expect(throws: PostgresError.self) { try row.decode("ids", as: [Int].self) }
            #expect(element?.code == .decoding)
        }
    }

    @Test func `errors name a column that is missing or has another type`() async throws {
        try await withConnection { connection, _ in
            let row = try await connection.query(
                "SELECT 1::int4 AS number, infinity.t FROM (SELECT 'infinity'::timestamptz AS t) infinity"
            )[0]
            #expect(try row.decode("number", as: Int64.self) == 1)
            let type = #expect(throws: PostgresError.self) { try row.decode("number", as: String.self) }
            #expect(type?.message == #"column "number": has type oid 23 where 25 was expected"#)
            let column = #expect(throws: PostgresError.self) { try row.decode("nummer", as: Int32.self) }
            #expect(column?.message == #"there is no column "nummer"; there are: number, t"#)
            let infinity = #expect(throws: PostgresError.self) { try row.decode("t", as: PostgresTimestamp.self) }
            #expect(infinity?.message == #"column "t": is infinity, no instant"#)
        }
    }

    @Test func `a type over a raw value is bound and read like the raw value`() async throws {
        try await withConnection { connection, _ in
            let row = try await connection.query("SELECT \(Colour.red) AS one, \([.red, Colour(rawValue: "blue")] as [Colour?]) AS many")[0]
            #expect(try row.decode("one", as: Colour.self) == .red)
            #expect(try row.decode("many", as: [Colour?].self) == [.red, Colour(rawValue: "blue")])
        }
    }

    @Test(arguments: [Int64.min, -1, 0, 946_684_800_000, 1_700_000_000_001, 253_402_300_799_999, Int64.max])
    func `milliseconds are unchanged after conversion to microseconds`(milliseconds: Int64) {
        let timestamp = PostgresTimestamp(millisecondsSince1970: milliseconds)
        if abs(milliseconds / 2) < Int64.max / 4000 {
            #expect(timestamp.millisecondsSince1970 == milliseconds)
        } else {
            var buffer = BindBuffer()
            #expect(throws: PostgresError.self) { try timestamp.encode(into: &buffer) }
        }
    }

    @Test func `microseconds are rounded down to milliseconds`() {
        #expect(PostgresTimestamp(microsecondsSince2000: -1).millisecondsSince1970 == 946_684_799_999)
        #expect(PostgresTimestamp(microsecondsSince2000: 1999).millisecondsSince1970 == 946_684_800_001)
    }
}

private struct Colour: RawRepresentable, Hashable, PostgresScalar {
    var rawValue: String
    static let red = Colour(rawValue: "red")
}
