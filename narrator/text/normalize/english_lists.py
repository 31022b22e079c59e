"""Lists of the English rules. Data only.

`STARTERS` begin sentences, so a capital there proves nothing. `SPELLED` are read by their letters
or as a well-known word exactly as they stand, and engines know how. `SHORT` are common words of up
to three letters: in capitals they are emphasis (NO!), any other such word is taken for initials.
"""

from __future__ import annotations

TITLES = {
    "Mr": "Mister",
    "Mrs": "Missus",
    "Ms": "Miz",
    "Messrs": "Messers",
    "Dr": "Doctor",
    "Drs": "Doctors",
    "Mme": "Madame",
    "Mlle": "Mademoiselle",
}
"""Titles before a name or alone; their full stop never ends a sentence."""

RANKS = {
    "Prof": "Professor",
    "Rev": "Reverend",
    "Revd": "Reverend",
    "Hon": "Honourable",
    "Capt": "Captain",
    "Col": "Colonel",
    "Gen": "General",
    "Maj": "Major",
    "Lt": "Lieutenant",
    "Lieut": "Lieutenant",
    "Cmdr": "Commander",
    "Cdr": "Commander",
    "Adm": "Admiral",
    "Brig": "Brigadier",
    "Sgt": "Sergeant",
    "Sergt": "Sergeant",
    "Cpl": "Corporal",
    "Pte": "Private",
    "Pvt": "Private",
    "Supt": "Superintendent",
    "Insp": "Inspector",
    "Det": "Detective",
    "Gov": "Governor",
    "Sen": "Senator",
    "Rep": "Representative",
    "Pres": "President",
    "Fr": "Father",
    "Bp": "Bishop",
    "Abp": "Archbishop",
    "Mt": "Mount",
    "Ft": "Fort",
}
"""Ranks, only before a capitalised name."""

RANKS_DOTTED = frozenset("Hon Det Rep Pres Sen Gov Bp Abp Adm".split())
"""Ranks that need their full stop."""

DEGREES = {
    "Ph.D": "PhD",
    "PhD": "PhD",
    "B.Sc": "BSc",
    "M.Sc": "MSc",
    "D.Phil": "D.Phil",
}

PLACES = {
    "Ave": "Avenue",
    "Blvd": "Boulevard",
    "Rd": "Road",
    "Sq": "Square",
    "Ln": "Lane",
    "Pl": "Place",
    "Hwy": "Highway",
    "Ct": "Court",
    "Jr": "Junior",
    "Jnr": "Junior",
    "Sr": "Senior",
    "Snr": "Senior",
    "Esq": "Esquire",
    "Co": "Company",
    "Corp": "Corporation",
    "Inc": "Incorporated",
    "Ltd": "Limited",
    "Bros": "Brothers",
    "Univ": "University",
    "Dept": "Department",
    "Inst": "Institute",
    "Assn": "Association",
}
"""Abbreviations only after a capitalised name, with their full stop."""

STREETS = {
    "St": "Street",
    "Ave": "Avenue",
    "Av": "Avenue",
    "Blvd": "Boulevard",
    "Rd": "Road",
    "Dr": "Drive",
    "Ln": "Lane",
    "Ct": "Court",
    "Pl": "Place",
    "Sq": "Square",
    "Ter": "Terrace",
    "Terr": "Terrace",
    "Pkwy": "Parkway",
    "Hwy": "Highway",
    "Cir": "Circle",
    "Expy": "Expressway",
    "Cres": "Crescent",
    "Gdns": "Gardens",
    "Trl": "Trail",
}
"""Abbreviations after a house's number and a name."""

COMPASS = {
    "N": "North",
    "S": "South",
    "E": "East",
    "W": "West",
    "NE": "Northeast",
    "NW": "Northwest",
    "SE": "Southeast",
    "SW": "Southwest",
}

STATES = {
    "AL": "Alabama",
    "AK": "Alaska",
    "AZ": "Arizona",
    "AR": "Arkansas",
    "CA": "California",
    "CO": "Colorado",
    "CT": "Connecticut",
    "DE": "Delaware",
    "DC": "D.C",
    "FL": "Florida",
    "GA": "Georgia",
    "HI": "Hawaii",
    "ID": "Idaho",
    "IL": "Illinois",
    "IN": "Indiana",
    "IA": "Iowa",
    "KS": "Kansas",
    "KY": "Kentucky",
    "LA": "Louisiana",
    "ME": "Maine",
    "MD": "Maryland",
    "MA": "Massachusetts",
    "MI": "Michigan",
    "MN": "Minnesota",
    "MS": "Mississippi",
    "MO": "Missouri",
    "MT": "Montana",
    "NE": "Nebraska",
    "NV": "Nevada",
    "NH": "New Hampshire",
    "NJ": "New Jersey",
    "NM": "New Mexico",
    "NY": "New York",
    "NC": "North Carolina",
    "ND": "North Dakota",
    "OH": "Ohio",
    "OK": "Oklahoma",
    "OR": "Oregon",
    "PA": "Pennsylvania",
    "RI": "Rhode Island",
    "SC": "South Carolina",
    "SD": "South Dakota",
    "TN": "Tennessee",
    "TX": "Texas",
    "UT": "Utah",
    "VT": "Vermont",
    "VA": "Virginia",
    "WA": "Washington",
    "WV": "West Virginia",
    "WI": "Wisconsin",
    "WY": "Wyoming",
    "PR": "Puerto Rico",
}
"""States before a ZIP code."""

STATES_ALONE = frozenset(
    (
        "AZ AK CA CT FL GA IL KS KY MN NC ND NE NH NJ NM NV NY RI SC SD TN TX UT VT WA WI WV WY"
    ).split()
)
"""States that have no other meaning after a town and a comma ("Smith, MD" is a doctor)."""

STATES_DOTTED = {
    "Ala": "Alabama",
    "Ariz": "Arizona",
    "Ark": "Arkansas",
    "Calif": "California",
    "Colo": "Colorado",
    "Conn": "Connecticut",
    "Fla": "Florida",
    "Ga": "Georgia",
    "Ill": "Illinois",
    "Ind": "Indiana",
    "Kan": "Kansas",
    "Ky": "Kentucky",
    "Mass": "Massachusetts",
    "Mich": "Michigan",
    "Minn": "Minnesota",
    "Mont": "Montana",
    "Neb": "Nebraska",
    "Nev": "Nevada",
    "Okla": "Oklahoma",
    "Ore": "Oregon",
    "Tenn": "Tennessee",
    "Tex": "Texas",
    "Va": "Virginia",
    "Vt": "Vermont",
    "Wash": "Washington",
    "Wis": "Wisconsin",
    "Wyo": "Wyoming",
}
"""States after a town and a comma, with their full stop."""

NEVER_CLOSING = {
    "viz": "namely",
    "cf": "compare",
    "vs": "versus",
    "approx": "approximately",
    "Mfg": "Manufacturing",
    "Mfrs": "Manufacturers",
    "vol": "volume",
    "vols": "volumes",
    "Vol": "Volume",
    "Vols": "Volumes",
    "tel": "telephone",
    "Tel": "Telephone",
    "Thos": "Thomas",
    "Wm": "William",
    "Chas": "Charles",
    "Geo": "George",
    "Jas": "James",
    "Robt": "Robert",
    "Edw": "Edward",
}
"""Abbreviations whose full stop never ends a sentence; `vs` and `viz` also without one."""

CLOSING = {
    "etc": "et cetera",
    "dept": "department",
    "depts": "departments",
    "govt": "government",
    "Govt": "Government",
    "misc": "miscellaneous",
    "incl": "including",
    "esp": "especially",
    "ibid": "ibid",
    "Ibid": "Ibid",
    "inst": "instant",
    "ult": "ultimo",
    "prox": "proximo",
    "appt": "appointment",
    "asst": "assistant",
}
"""Abbreviations with a full stop that may also end the sentence."""

BEFORE_NUMBER = {
    "no": "number",
    "nos": "numbers",
    "p": "page",
    "pp": "pages",
    "vol": "volume",
    "vols": "volumes",
    "ch": "chapter",
    "chap": "chapter",
    "chs": "chapters",
    "fig": "figure",
    "figs": "figures",
    "sec": "section",
    "sect": "section",
    "para": "paragraph",
    "l": "line",
    "ll": "lines",
    "v": "verse",
    "vv": "verses",
    "eq": "equation",
    "ext": "extension",
    "op": "opus",
    "ep": "episode",
    "c": "circa",
    "ca": "circa",
    "b": "born",
    "d": "died",
    "fl": "flourished",
    "est": "established",
    "mk": "mark",
    "tel": "telephone",
}
"""Abbreviations before a digit, with their full stop; those of `DOTLESS` also without."""

DOTLESS = frozenset("pp vol vols fig figs ext mk".split())
PAGED = frozenset("p pp vol vols ch chap fig".split())
"""Abbreviations that a Roman numeral may follow."""

MONTHS = (
    "January February March April May June July August September October November December"
).split()

MONTH_SHORT = {
    "Jan": 1,
    "Feb": 2,
    "Mar": 3,
    "Apr": 4,
    "Jun": 6,
    "Jul": 7,
    "Aug": 8,
    "Sep": 9,
    "Sept": 9,
    "Oct": 10,
    "Nov": 11,
    "Dec": 12,
}

DAYS = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Weds": "Wednesday",
    "Thu": "Thursday",
    "Thur": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}

UNITS = {
    "km": ("kilometre", "kilometres"),
    "m": ("metre", "metres"),
    "cm": ("centimetre", "centimetres"),
    "mm": ("millimetre", "millimetres"),
    "mi": ("mile", "miles"),
    "yd": ("yard", "yards"),
    "yds": ("yard", "yards"),
    "ft": ("foot", "feet"),
    "in": ("inch", "inches"),
    "ins": ("inch", "inches"),
    "kg": ("kilogram", "kilograms"),
    "kgs": ("kilogram", "kilograms"),
    "g": ("gram", "grams"),
    "mg": ("milligram", "milligrams"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "st": ("stone", "stone"),
    "cwt": ("hundredweight", "hundredweight"),
    "l": ("litre", "litres"),
    "L": ("litre", "litres"),
    "ml": ("millilitre", "millilitres"),
    "mL": ("millilitre", "millilitres"),
    "cl": ("centilitre", "centilitres"),
    "pt": ("pint", "pints"),
    "pts": ("point", "points"),
    "gal": ("gallon", "gallons"),
    "tsp": ("teaspoon", "teaspoons"),
    "tbsp": ("tablespoon", "tablespoons"),
    "mph": ("mile per hour", "miles per hour"),
    "m.p.h": ("mile per hour", "miles per hour"),
    "kph": ("kilometre per hour", "kilometres per hour"),
    "km/h": ("kilometre per hour", "kilometres per hour"),
    "kmh": ("kilometre per hour", "kilometres per hour"),
    "m/s": ("metre per second", "metres per second"),
    "mpg": ("mile per gallon", "miles per gallon"),
    "m.p.g": ("mile per gallon", "miles per gallon"),
    "rpm": ("revolution per minute", "revolutions per minute"),
    "r.p.m": ("revolution per minute", "revolutions per minute"),
    "hp": ("horsepower", "horsepower"),
    "h.p": ("horsepower", "horsepower"),
    "cc": ("C.C", "C.C"),
    "ha": ("hectare", "hectares"),
    "ms": ("millisecond", "milliseconds"),
    "s": ("second", "seconds"),
    "sec": ("second", "seconds"),
    "secs": ("second", "seconds"),
    "min": ("minute", "minutes"),
    "mins": ("minute", "minutes"),
    "h": ("hour", "hours"),
    "hr": ("hour", "hours"),
    "hrs": ("hour", "hours"),
    "yr": ("year", "years"),
    "yrs": ("year", "years"),
    "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "kB": ("kilobyte", "kilobytes"),
    "KB": ("kilobyte", "kilobytes"),
    "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes"),
    "TB": ("terabyte", "terabytes"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"),
    "kbps": ("kilobit per second", "kilobits per second"),
    "dB": ("decibel", "decibels"),
    "W": ("watt", "watts"),
    "kW": ("kilowatt", "kilowatts"),
    "MW": ("megawatt", "megawatts"),
    "GW": ("gigawatt", "gigawatts"),
    "kWh": ("kilowatt hour", "kilowatt hours"),
    "V": ("volt", "volts"),
    "kV": ("kilovolt", "kilovolts"),
    "mA": ("milliamp", "milliamps"),
    "kcal": ("kilocalorie", "kilocalories"),
    "cal": ("calorie", "calories"),
    "sq ft": ("square foot", "square feet"),
    "sq. ft": ("square foot", "square feet"),
    "sq m": ("square metre", "square metres"),
    "sq mi": ("square mile", "square miles"),
    "sq km": ("square kilometre", "square kilometres"),
    "sqm": ("square metre", "square metres"),
    "cu ft": ("cubic foot", "cubic feet"),
    "m²": ("square metre", "square metres"),
    "m2": ("square metre", "square metres"),
    "km²": ("square kilometre", "square kilometres"),
    "km2": ("square kilometre", "square kilometres"),
    "cm²": ("square centimetre", "square centimetres"),
    "ft²": ("square foot", "square feet"),
    "m/s²": ("metre per second squared", "metres per second squared"),
    "ft/s": ("foot per second", "feet per second"),
    "g/L": ("gram per litre", "grams per litre"),
    "mg/L": ("milligram per litre", "milligrams per litre"),
    "mg/kg": ("milligram per kilogram", "milligrams per kilogram"),
    "kg/m³": ("kilogram per cubic metre", "kilograms per cubic metre"),
    "g/cm³": ("gram per cubic centimetre", "grams per cubic centimetre"),
    "mm²": ("square millimetre", "square millimetres"),
    "in²": ("square inch", "square inches"),
    "sq in": ("square inch", "square inches"),
    "sq. in": ("square inch", "square inches"),
    "sq yd": ("square yard", "square yards"),
    "sq. yd": ("square yard", "square yards"),
    "sq. m": ("square metre", "square metres"),
    "sq. mi": ("square mile", "square miles"),
    "sq. km": ("square kilometre", "square kilometres"),
    "cu. ft": ("cubic foot", "cubic feet"),
    "cu in": ("cubic inch", "cubic inches"),
    "cu. in": ("cubic inch", "cubic inches"),
    "cu yd": ("cubic yard", "cubic yards"),
    "ft³": ("cubic foot", "cubic feet"),
    "fl oz": ("fluid ounce", "fluid ounces"),
    "fl. oz": ("fluid ounce", "fluid ounces"),
    "qt": ("quart", "quarts"),
    "qts": ("quart", "quarts"),
    "gals": ("gallon", "gallons"),
    "tbs": ("tablespoon", "tablespoons"),
    "tbsps": ("tablespoon", "tablespoons"),
    "tsps": ("teaspoon", "teaspoons"),
    "doz": ("dozen", "dozen"),
    "dl": ("decilitre", "decilitres"),
    "dL": ("decilitre", "decilitres"),
    "mcg": ("microgram", "micrograms"),
    "µg": ("microgram", "micrograms"),
    "μg": ("microgram", "micrograms"),
    "µm": ("micrometre", "micrometres"),
    "μm": ("micrometre", "micrometres"),
    "µs": ("microsecond", "microseconds"),
    "μs": ("microsecond", "microseconds"),
    "nm": ("nanometre", "nanometres"),
    "nmi": ("nautical mile", "nautical miles"),
    "kn": ("knot", "knots"),
    "kt": ("knot", "knots"),
    "kts": ("knot", "knots"),
    "wk": ("week", "weeks"),
    "wks": ("week", "weeks"),
    "mos": ("month", "months"),
    "ns": ("nanosecond", "nanoseconds"),
    "Ω": ("ohm", "ohms"),
    "kΩ": ("kilohm", "kilohms"),
    "MΩ": ("megohm", "megohms"),
    "mV": ("millivolt", "millivolts"),
    "mW": ("milliwatt", "milliwatts"),
    "Wh": ("watt hour", "watt hours"),
    "MWh": ("megawatt hour", "megawatt hours"),
    "mAh": ("milliamp hour", "milliamp hours"),
    "kJ": ("kilojoule", "kilojoules"),
    "kN": ("kilonewton", "kilonewtons"),
    "kPa": ("kilopascal", "kilopascals"),
    "hPa": ("hectopascal", "hectopascals"),
    "MPa": ("megapascal", "megapascals"),
    "psi": ("pound per square inch", "pounds per square inch"),
    "mmHg": ("millimetre of mercury", "millimetres of mercury"),
    "bpm": ("beat per minute", "beats per minute"),
    "fps": ("frame per second", "frames per second"),
    "dpi": ("dot per inch", "dots per inch"),
    "ppm": ("part per million", "parts per million"),
    "ppb": ("part per billion", "parts per billion"),
    "eV": ("electronvolt", "electronvolts"),
    "keV": ("kiloelectronvolt", "kiloelectronvolts"),
    "MeV": ("megaelectronvolt", "megaelectronvolts"),
    "GeV": ("gigaelectronvolt", "gigaelectronvolts"),
    "MPH": ("mile per hour", "miles per hour"),
    "KG": ("kilogram", "kilograms"),
    "KM": ("kilometre", "kilometres"),
    "LBS": ("pound", "pounds"),
    "m³": ("cubic metre", "cubic metres"),
    "m3": ("cubic metre", "cubic metres"),
    "cm³": ("cubic centimetre", "cubic centimetres"),
}

DOTTED_UNITS = (
    "ft in ins yd yds mi lb lbs oz cwt gal gals qt qts pt tsp tbsp hr hrs min mins sec secs "
    "m.p.h h.p r.p.m"
).split()
"""Units written with a full stop after a number in words."""

_TEENS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ONE_WORDS = frozenset("one half quarter a an per".split())
COUNT_WORDS = (
    *_TEENS,
    *_TENS,
    *(f"{ten}-{one}" for ten in _TENS for one in _TEENS[:9]),
    *"hundred thousand million half quarter few several many".split(),
)
"""Last words of a number."""

SIGN_WORDS = {
    "+": "plus",
    "=": "equals",
    "×": "times",
    "÷": "divided by",
    "±": "plus or minus",
    "≈": "about",
    "≠": "does not equal",
    "≤": "at most",
    "≥": "at least",
    "<": "less than",
    ">": "more than",
    "−": "minus",
    "∞": "infinity",
    "√": "the square root of",
    "%": "percent",
    "‰": "per thousand",
    "°": "degrees",
    "&": "and",
    "@": "at",
    "§": "section",
    "¶": "paragraph",
    "©": "copyright",
    "²": "squared",
    "³": "cubed",
    "€": "euros",
    "£": "pounds",
    "$": "dollars",
    "¢": "cents",
}

WEB = {
    ".": " dot ",
    "/": " slash ",
    "-": " dash ",
    "_": " underscore ",
    "@": " at ",
    ":": " colon ",
    "?": " question mark ",
    "=": " equals ",
    "&": " and ",
    "#": " hash ",
    "%": " percent ",
    "+": " plus ",
    "~": " tilde ",
}

WEB_WORDS = frozenset("co com org net edu gov info biz app dev blog news shop mil".split())
"""Top-level domains that are read as words; others of two or three letters are spelled."""

REGNAL_NAMES = frozenset(
    (
        "Henry Louis George Edward Elizabeth Charles James William Mary Richard John Anne Stephen "
        "Robert David Kenneth Duncan Henri Lewis Napoleon Pius Leo Paul Benedict Innocent Gregory "
        "Clement Urban Alexander Julius Adrian Hadrian Honorius Eugene Nicholas Callixtus Martin "
        "Boniface Celestine Sixtus Francis Francois François Ivan Catherine Peter Frederick "
        "Friedrich Wilhelm Philip Philippe Ferdinand Alfonso Alphonso Carlos Ptolemy Ramses "
        "Rameses Ramesses Seti Thutmose Amenhotep Cleopatra Darius Xerxes Artaxerxes Cyrus "
        "Constantine Constantius Justinian Theodosius Otto Conrad Rudolf Rudolph Maximilian Joseph "
        "Franz Leopold Albert Gustav Gustavus Christian Haakon Olaf Harald Harold Margrethe "
        "Emmanuel Umberto Humbert Pedro Juan João Manuel Sigismund Casimir Vladimir Mehmed Selim "
        "Murad Bayezid Suleiman Llywelyn Rainier Ladislaus Wenceslas Wenceslaus Ottokar Matilda "
        "Isabella Mithridates Antiochus Seleucus Tiberius Romanos Baldwin Thomas Arthur Theodore "
        "Walter Winston Howard Hugh Hugo Roger Ethelred Aethelred Edmund Edgar Oscar Carl Karl "
        "Rockefeller Vanderbilt Astor Howell"
    ).split()
)
"""Names followed by a Roman numeral as an ordinal: rulers, popes, and given names of heirs."""

RULERS = frozenset(
    (
        "King Queen Pope Emperor Empress Tsar Czar Tsarina Kaiser Prince Princess Duke Duchess "
        "Count Earl Sultan Shah Pharaoh Baron Lord Archduke Antipope Patriarch"
    ).split()
)

DIVISIONS = (
    "Chapter|Part|Book|Volume|Vol\\.|Act|Scene|Section|Article|Appendix|Canto|Stanza|Psalm|Letter|"
    "Case|Figure|Fig\\.|Table|Plate|Number|No\\.|Phase|Type|Class|Stage|Grade|Title|Chap\\.|Ch\\.|"
    "Episode|Season|Level|Mark|Mk\\.?|Round|Lesson|Unit|Sonnet|Symphony|Prelude|World War|War|"
    "Apollo|Gemini|Saturn|Super Bowl|Vatican|Division|Corps|Category|Schedule|Exhibit|Problem|"
    "Question|Tome|Day|Night|Adventure|Interlude|Dialogue|Essay|Lecture|Movement|Op\\.|Century"
)
"""Names of divisions before a Roman numeral."""

AFTER_PRONOUN = frozenset(
    (
        "am was have had do did will would shall should can could may might must think thought "
        "know knew mean meant want wanted wish wished hope hoped believe believed suppose supposed "
        "guess see saw say said told tell feel felt find found fear like liked love loved hate "
        "hated need needed never always just also only really read wrote write go went come came "
        "get got give gave take took make made played play remember owe owed ever still then now "
        "cannot don't didn't can't won't wasn't couldn't wouldn't shouldn't haven't hadn't"
    ).split()
)
"""Words after `I` that show it to be the pronoun."""

FIRST_PERSON = AFTER_PRONOUN - frozenset(
    (
        "was had did will would shall should can could may might must said went came got gave "
        "took made played wrote never always also only ever still then now wasn't couldn't hadn't"
    ).split()
)
"""Those of them whose subject is never a king."""

NOT_NOUNS = frozenset(
    (
        "was is has his this its as does goes says us thus perhaps always across besides yes "
        "unless towards afterwards backwards plus minus versus less was sometimes hers ours yours "
        "theirs whereas sees saw brings marks comes seems looks gives makes shows begins ends "
        "remains"
    ).split()
)
"""Words in -s that are not plural nouns."""

YEAR_VERBS = frozenset(
    (
        "dawns opens starts begins ends closes finds marks brings sees changes heralds promises "
        "passes comes goes arrives means proves remains stands witnesses belongs calls turns "
        "ushers introduces becomes gets happens looms makes gives takes shows keeps holds feels "
        "sounds seems looks starts draws rolls"
    ).split()
)
"""Verbs of a year that begins a sentence; soldiers and horses would be counted there."""

COUNTED = frozenset(
    (
        "people men women children feet foot percent million billion thousand hundred sheep fish "
        "horse cattle per pounds dollars miles souls or more odd different other of"
    ).split()
)
"""Words that show a preceding number like 1500 to be a count, not a year."""

FUNCTION = frozenset(
    (
        "and or but nor in to of for on at a an per from is was were are be been by with that "
        "which who he she it they we you i as than if when while because so then each apiece more "
        "less into onto out up down over under about after before until till back there here "
        "would will could should can may might had has have did does do not the this these those "
        "his her their my your our off away ago today tomorrow yesterday now all only just"
    ).split()
)
"""Words that a preceding number of dollars or feet does not describe."""

STARTERS = (
    "A|About|After|All|Also|An|And|Any|Are|As|At|Because|Before|Both|But|By|Can|Could|Did|Do|"
    "Does|Don't|Each|Even|Every|Everyone|Everything|First|For|From|Had|Has|Have|He|Her|Here|"
    "Hers|Hi|His|How|However|I|I'd|I'll|I'm|I've|If|In|Instead|Is|It|It's|Its|Just|Last|Let|"
    "Maybe|Me|Meanwhile|More|Most|My|Never|No|Nobody|None|Nor|Not|Nothing|Now|Of|Oh|On|Once|One|"
    "Only|Or|Our|Out|Over|Perhaps|Please|She|Since|So|Some|Someone|Something|Sometimes|Soon|"
    "Still|Such|That|That's|The|Their|Then|There|There's|These|They|They're|This|Those|Though|"
    "Thus|To|Today|Two|Under|Until|Upon|Was|We|We're|Well|Were|What|What's|When|Where|Whether|"
    "Which|While|Who|Whose|Why|Will|With|Without|Would|Yes|Yet|You|You're|Your"
)

SPELLED = frozenset(
    (
        "ABC AC AD AGM AI AIDS AKA AM API ASAP ATM AWOL BBC BBQ BC BCE BMW BST BTW CBC CBE CBS "
        "CD CDT CE CEO CFO CGI CIA CID CIO CNN CPR CPU CSS CST CTO CV DC DIY DJ DNA DOB DVD EDT "
        "EEC EFL EMI ER ESP ESPN EST ET ETA EU FA FAQ FBI FC FDA FDR FIFA FM FYI GB GCSE GDP "
        "GDPR GI GMT GP GPS GPU GUI HBO HGV HIV HM HMS HP HQ HR HRH HTML HTTP HTTPS IBM ID IMF "
        "IOU IP IPA IQ IRA IRS ISBN ISP ITV IV IVF JFK JP JPEG KFC KGB KKK KO LA LCD LED LGBT "
        "LLC LOL LP LSD LSE MBA MBE MC MEP MGM MI MIT MLB MOD MOT MP MRI MS MST MTV NAACP NASA "
        "NATO NBA NBC NCO NFL NGO NHL NHS NPR NSA NY NYC NYPD NZ OAP OBE OECD OED OK OMG OPEC "
        "OS PA PBS PC PDF PDT PE PGA PHD PIN PLC PM PMS POW PR PS PST PTA PTO PTSD PVC QC QED "
        "RAC RADA RAF RAM RC REM RIP RN RNA ROM RPM RSPCA RSVP SAS SAT SMS SNP SOS SPF SQL SS "
        "STD SUV SWAT TB TCP TED TGIF TLC TNT TV UAE UCL UFO UHF UK UN UNESCO UNICEF URL US USA "
        "USB USN USS USSR UTC UV VAT VCR VHF VHS VIP VP WASP WC WHO WMD WTF WTO WWF WWW XL XML "
        "YHA YMCA YWCA ZIP"
    ).split()
)

AMBIGUOUS_CAPITALS = frozenset(
    "AD AM HM ID IT LA MI MS OK PA PIN RAM REM RIP SAT TED US WASP WHO ZIP".split()
)
"""Members of `SPELLED` that are also words: next to other shouted words they are shouted."""

SHORT = frozenset(
    (
        "a ace act add ago aid aim air ale all am an and ant any ape apt arc are ark arm art as "
        "ash ask at ate aw axe aye bad bag ban bar bat bay be bed bee beg bet bid big bin bit bow "
        "box boy bra bud bug bun bus but buy by bye cab can cap car cat cop cow cry cub cup cut "
        "dad dam day den did die dig dim dip do dog don dot dry due dug dye ear eat eel egg ego eh "
        "elf end er eve eye fan far fat fed fee few fig fit fix fly foe fog for fox fry fun fur "
        "gag gap gas gay get gin go god got gum gun gut guy ha had ham has hat haw hay he hen her "
        "hey hid him hip his hit ho hog hop hot how hub hue hug huh hum hut i ice icy if ill in "
        "ink inn ire is it its ivy jab jam jar jaw jay jet jew job jog joy jug kid kin kit lab lad "
        "lag lap law lay led leg let lid lie lip lit lo log lot low mad man map mat may me men met "
        "mid mix mob mom mop mow mud mug mum my nag nap nay net new nil nip no nod nor not now nun "
        "nut oak oar oat odd of off oh oil old on one oo ooh opt or orb ore our out ow owe owl own "
        "ox pad pal pan pat paw pay pea peg pen per pet pie pig pit pop pot pub put rag ran rap "
        "rat raw ray red rib rid rig rim rob rod rot row rub rug rum run rye sad sap saw say sea "
        "see set sew sex she shy sin sip sir sit six ski sky sly so sob son sow spy sue sum sun "
        "tab tag tan tap tar tax tea ten the thy tie tin tip to toe ton too top toy try tub tug "
        "two ugh uh um up urn us use van vet via vow wag war was wax way we web wed wee wet who "
        "why wig win wit woe won woo wow ye yea yep yes yet yo you yow zip zoo nah yah bah pah ma "
        "pa mr mrs ms dr st mt"
    ).split()
)

VOWELLESS = frozenset("hm hmm hmmm mm mmm shh psst pst pfft tsk brr grr zzz hmph pshaw".split())
"""Interjections that look like initials."""

CURSES = {
    "d—n": "damn",
    "d—m": "damn",
    "d—d": "damned",
    "d—nation": "damnation",
    "h—l": "hell",
    "b—y": "bloody",
    "b—h": "bitch",
    "G—d": "God",
    "G—": "God",
}
