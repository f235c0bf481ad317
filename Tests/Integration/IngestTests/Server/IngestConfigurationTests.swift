import HTTPServing
import Testing

@testable import Ingest

struct IngestConfigurationTests {
    @Test func `is valid by default`() throws {
        try IngestServer.Configuration().validate()
    }

    @Test func `names the invalid limit`() {
        var configuration = IngestServer.Configuration()
        configuration.limits.maximumBytesInMemory = 1
        let error = #expect(throws: ServerError.self) { try configuration.validate() }
        #expect(error?.description == "maximumBytesInMemory: 1 is not at least 262144")
    }

    @Test func `has room for the largest notification of either kind`() throws {
        var configuration = IngestServer.Configuration()
        configuration.limits.maximumBytesInMemory = 1_000_000
        let memory = #expect(throws: ServerError.self) { try configuration.validate() }
        #expect(memory?.description == "maximumBytesInMemory: 1000000 is not at least 4194304")
        configuration.legacyBodyBytes = 1_000_000
        try configuration.validate()
        configuration.maximumBytesPerHour = 999_999
        let hourly = #expect(throws: ServerError.self) { try configuration.validate() }
        #expect(hourly?.description == "maximumBytesPerHour: 999999 is not at least 1000000")
        for bytes in [1023, 4_194_305] {
            configuration.legacyBodyBytes = bytes
            let error = #expect(throws: ServerError.self) { try configuration.validate() }
            #expect(error?.description == "legacyBodyBytes: \(bytes) is not between 1024 and 4194304")
        }
    }
}
