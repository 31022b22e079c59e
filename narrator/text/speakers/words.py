"""English words for attribution: verbs of speech, titles, people, pronouns, given names.

Lists only; `speech_verbs.py` has those of other languages.
"""

from __future__ import annotations

PRONOUNS = {
    "he": "he", "him": "he", "his": "he", "himself": "he",
    "she": "she", "her": "she", "hers": "she", "herself": "she",
    "they": "they", "them": "they", "their": "they", "themselves": "they",
    "it": "it", "its": "it", "itself": "it",
}  # fmt: skip
"""Form -> subject form of a pronoun."""

SUBJECTS = frozenset("he she they it i we".split())
"""Pronouns that can be the subject of a tag."""

SAID = frozenset(
    """
    said says say cried cries asked asks replied replies answered answers exclaimed returned
    observed remarked added continued began begins resumed rejoined repeated whispered shouted
    murmured muttered called thought inquired enquired demanded suggested interrupted declared
    responded retorted explained protested interposed ejaculated sighed laughed gasped growled
    screamed snapped pleaded insisted announced admitted agreed concluded commented went put
    pursued proceeded persisted urged begged implored sobbed groaned grumbled roared yelled bawled
    hissed echoed faltered stammered stuttered panted breathed mumbled snarled sneered jeered
    chuckled giggled smiled grinned drawled barked bellowed howled shrieked screeched squeaked
    squealed piped wailed whimpered whined moaned croaked purred cooed chirped thundered stormed
    raged fumed scolded chided warned cautioned advised counselled ordered commanded bade directed
    instructed entreated besought appealed prayed objected argued contended maintained asserted
    affirmed averred avowed vowed swore promised assured confessed owned allowed conceded granted
    acknowledged denied contradicted corrected amended qualified ventured hazarded faltered
    hesitated volunteered offered proposed mused pondered reflected meditated considered wondered
    speculated guessed supposed quoted recited read sang hummed chanted prompted quizzed questioned
    queried challenged taunted teased mocked joked jested quipped boasted bragged gushed raved
    rattled babbled chattered gabbled blurted spluttered sputtered burst broke struck chimed
    cut finished ended summarised summarized reported related narrated told informed apprised
    notified proclaimed pronounced stated specified mentioned noted recollected remembered recalled
    reminded recommended invited welcomed greeted hailed saluted congratulated thanked apologised
    apologized consoled comforted soothed coaxed wheedled cajoled encouraged applauded approved
    assented consented consoled lamented complained mourned bewailed regretted grieved reproached
    rebuked reproved upbraided admonished remonstrated expostulated lectured moralised moralized
    preached philosophised philosophized predicted prophesied foretold opined believed hoped feared
    wished determined decided resolved vociferated clamoured clamored trilled warbled quavered
    gulped choked puffed wheezed grunted snorted sniffed coughed yawned spoke speaks rapped rasped
    bleated crowed cackled tittered snickered sniggered beamed scoffed flung threw shot fired
    uttered voiced articulated enunciated dictated translated interpreted replied soliloquised
    soliloquized moaned lisped simpered minced intoned droned boomed rumbled grated jerked crooned
    testified threatened thundered urged accused charged countered parried reasoned reassured
    rallied relented rhapsodised sang scowled frowned nodded shrugged shuddered winced ruminated
    """.split()
)
"""Past and present forms of verbs that introduce speech."""

SURE_SAID = frozenset(
    """
    said says say cried cries asked asks replied replies answered answers exclaimed remarked
    observed rejoined repeated whispered shouted murmured muttered inquired enquired demanded
    suggested interrupted declared responded retorted explained protested interposed ejaculated
    added continued pursued resumed returned thought called stammered gasped growled screamed
    snapped pleaded insisted persisted urged announced sobbed groaned grumbled roared yelled
    """.split()
)
"""Verbs that make any sentence next to a quotation its tag."""

TITLES = {
    "mr": "he", "mister": "he", "sir": "he", "lord": "he", "master": "he", "monsieur": "he",
    "m": "he", "herr": "he", "signor": "he", "señor": "he", "don": "he", "king": "he",
    "prince": "he", "duke": "he", "count": "he", "baron": "he", "uncle": "he", "father": "he",
    "brother": "he", "squire": "he", "abbé": "he", "earl": "he", "marquis": "he", "papa": "he",
    "grandfather": "he", "grandpa": "he", "messrs": "he", "esq": "he", "friar": "he",
    "mrs": "she", "miss": "she", "ms": "she", "lady": "she", "madam": "she", "madame": "she",
    "mme": "she", "mlle": "she", "mademoiselle": "she", "frau": "she", "fraulein": "she",
    "fräulein": "she", "signora": "she", "signorina": "she", "señora": "she", "queen": "she",
    "princess": "she", "duchess": "she", "countess": "she", "baroness": "she", "aunt": "she",
    "auntie": "she", "mother": "she", "sister": "she", "dame": "she", "mamma": "she",
    "grandmother": "she", "grandma": "she", "nurse": "she", "widow": "she", "mistress": "she",
    "goody": "she", "marchioness": "she",
    "dr": "", "doctor": "", "professor": "", "prof": "", "captain": "", "capt": "", "colonel": "",
    "col": "", "major": "", "general": "", "gen": "", "lieutenant": "", "sergeant": "",
    "corporal": "", "private": "", "admiral": "", "commander": "", "inspector": "",
    "superintendent": "", "constable": "", "judge": "", "justice": "", "reverend": "", "rev": "",
    "bishop": "", "deacon": "", "saint": "", "st": "", "cousin": "", "old": "", "young": "",
    "little": "", "poor": "", "dear": "", "president": "", "senator": "", "governor": "",
    "secretary": "", "chief": "", "honourable": "", "hon": "", "cardinal": "", "mayor": "",
}  # fmt: skip
"""Title before a name -> pronoun of the bearer, "" if not clear."""

SHORT = {
    "doctor": "dr",
    "professor": "prof",
    "captain": "capt",
    "colonel": "col",
    "reverend": "rev",
    "general": "gen",
}
"""Title -> its short form, used in comparisons."""

ARTICLES = frozenset("the a an his her my their our its that this one".split())

PERSONS = {
    "man": "he", "boy": "he", "gentleman": "he", "fellow": "he", "lad": "he", "father": "he",
    "husband": "he", "son": "he", "brother": "he", "uncle": "he", "nephew": "he", "king": "he",
    "lord": "he", "prince": "he", "duke": "he", "squire": "he", "butler": "he", "footman": "he",
    "coachman": "he", "landlord": "he", "waiter": "he", "policeman": "he", "sailor": "he",
    "soldier": "he", "priest": "he", "clergyman": "he", "vicar": "he", "curate": "he",
    "parson": "he", "monk": "he", "actor": "he", "grandfather": "he", "bridegroom": "he",
    "chap": "he", "youth": "he", "knight": "he", "emperor": "he", "constable": "he",
    "inspector": "he", "captain": "he", "colonel": "he", "major": "he", "general": "he",
    "detective": "he", "sergeant": "he", "porter": "he", "cabman": "he", "driver": "he",
    "mariner": "he", "tramp": "he", "host": "he", "master": "he", "groom": "he", "baronet": "he",
    "earl": "he", "nobleman": "he", "tailor": "he", "blacksmith": "he", "barber": "he",
    "poet": "he", "painter": "he", "doctor": "he", "professor": "he", "judge": "he",
    "lawyer": "he", "secretary": "he", "marquis": "he", "engineer": "he", "schoolmaster": "he",
    "woman": "she", "girl": "she", "lady": "she", "mother": "she", "wife": "she", "daughter": "she",
    "sister": "she", "aunt": "she", "niece": "she", "queen": "she", "princess": "she",
    "duchess": "she", "countess": "she", "maid": "she", "housekeeper": "she", "landlady": "she",
    "nurse": "she", "widow": "she", "governess": "she", "hostess": "she", "grandmother": "she",
    "bride": "she", "actress": "she", "waitress": "she", "mistress": "she", "nun": "she",
    "lass": "she", "dame": "she", "mamma": "she", "mama": "she", "papa": "he", "empress": "she",
    "spinster": "she", "matron": "she", "cook": "she", "housemaid": "she",
    "child": "", "person": "", "stranger": "", "friend": "", "companion": "", "servant": "",
    "voice": "", "visitor": "", "guest": "", "neighbour": "", "neighbor": "", "cousin": "",
    "speaker": "", "other": "", "clerk": "", "teacher": "", "artist": "", "creature": "",
    "traveller": "", "traveler": "", "prisoner": "", "patient": "", "baby": "", "figure": "",
    "one": "", "young": "", "elder": "", "younger": "", "latter": "", "former": "", "chairman": "",
    "official": "", "shopman": "", "messenger": "", "author": "", "philosopher": "",
}  # fmt: skip
"""Common noun for a person -> pronoun, "" if not clear."""

ADDRESSED = {
    **dict.fromkeys("sir mister boy lad fellow papa father dad uncle man brother".split(), "he"),
    **dict.fromkeys("madam ma'am miss girl mamma mama mother aunt auntie sister".split(), "she"),
}
"""Form of address -> pronoun of the person addressed."""

SAYING = frozenset(
    "saying crying asking exclaiming adding murmuring shouting whispering calling observing "
    "remarking muttering replying answering repeating bellowing screaming announcing declaring "
    "begging thinking opposing".split()
)
"""Participles that lead to a quotation."""

HE_NAMES = frozenset(
    """
    abraham adam adrian alan albert alec alexander alfred algernon allan ambrose andrew angus
    anthony archibald archie arnold arthur aubrey augustus austin barnaby bartholomew basil ben
    benedict benjamin bernard bert bertie bill billy bob boris bruce carl cecil cedric charles
    charley charlie christopher clarence claude clement clive cuthbert cyril daniel david denis
    dennis dick dmitri donald dorian douglas duncan ebenezer edgar edmund edward edwin eliot elliott
    eric ernest eustace evan evelyn ferdinand fitzwilliam francis frank franklin fred frederic
    frederick gabriel geoffrey george gerald gerard gilbert giles godfrey gordon graham gregory
    griffith guy hamish harold harry harvey hector henry herbert hercule herman horace howard hubert
    hugh hugo humphrey ian isaac ivan jack jacob jake james jasper jeffrey jem jeremiah jeremy
    jerome jerry jim jimmy joe john johnny jonathan joseph joshua josiah julian kenneth kit
    lancelot larry laurence lawrence leo leonard leopold leslie lewis lionel louis lucian luke
    malcolm marcus mark martin matthew maurice max michael miles montague mortimer nathaniel ned
    neville nicholas nick nigel noah noel norman oliver oscar oswald owen patrick paul percival
    percy perry peter phil philip pierre pip ralph raymond reginald richard rob robert robin
    roderick rodney roger roland ronald rufus rupert sam samuel sebastian septimus sherlock sidney
    silas simon stanley stephen steve steven stuart sydney ted theodore thomas tim timothy tobias
    toby tom tommy tony uriah victor vincent vivian walter warren wilfred will william willie
    willoughby winston
    """.split()
)
SHE_NAMES = frozenset(
    """
    abigail ada adela adelaide adele agatha agnes alice alicia alison amanda amelia amy angela ann
    anna annabel anne annie antonia arabella augusta barbara beatrice becky belinda bella bertha
    beryl bess bessie beth betsy betty biddy blanche bridget camilla caroline carrie catherine
    cathy cecilia cecily celia charity charlotte christina clara clarissa claudia clementina connie
    constance cora cordelia cornelia cynthia daisy daphne deborah delia diana dinah dolly dora
    dorothea dorothy edith edna effie eleanor elinor eliza elizabeth ella ellen elsie emily emma
    enid esther estella ethel eugenia eunice eva evelina evangeline fanny felicity fiona flora
    florence frances freda georgiana gertrude gladys grace gwendolen hannah harriet hazel helen
    helena henrietta hermia hester hetty hilda honor hope ida imogen irene iris isabel isabella
    ivy jane janet jean jemima jennie jenny jessica jessie joan joanna josephine joyce judith
    julia juliana juliet june justine kate katharine katherine kathleen kathy kitty laetitia laura
    lavinia leonora letitia letty lilian lily linda lizzie lizzy lois lottie louisa louise lucilla
    lucinda lucy lydia mabel madeline maggie maisie margaret margery maria marian marianne marie
    marilla marion marjorie martha mary matilda maud maude may melissa mercy meg mildred millicent
    millie minnie minerva mirabel miranda miriam molly mollie monica muriel myra myrtle nancy
    natalie nell nellie nelly netty nora norah olive olivia ophelia pamela patience patty
    paula pauline pearl peggy penelope philippa phoebe phyllis polly portia priscilla prudence
    rachel rebecca rhoda rosa rosalie rosalind rosamond rose rosemary rosie roxana ruby ruth sally
    sarah selina sibyl sophia sophie sophy stella susan susannah susie sybil sylvia teresa tess
    tabitha thea theodora theresa ursula veronica vera victoria viola violet virginia wilhelmina
    winifred
    """.split()
)
"""Given names that are clearly of one sex; compiled for this purpose."""

NOT_NAMES = frozenset(
    """
    i the a an and but or nor so yet for if then when while where why how what who whom which that
    this these those there here he she it they we you his her its their our your my mine yours oh
    ah o eh well yes no not now never ever just only even still too also very much more most some
    any all both each every few many such own same other another in on at by to of from with into
    upon over under about after before between through during without within against among
    as than is are was were be been being am do does did done have has had having will would shall
    should can could may might must let come go see look listen stop wait please thank thanks good
    god heaven heavens lord christ jesus monday tuesday wednesday thursday friday saturday sunday
    january february march april june july august september october november december christmas
    easter english french german italian spanish russian irish scotch scottish american indian
    england france germany italy spain russia ireland scotland america india europe london paris
    chapter part book volume section letter preface contents illustration end perhaps indeed really
    certainly surely suddenly presently meanwhile however moreover nevertheless though although
    because since until unless whether once twice again always often sometimes soon later first
    second third last next nothing something anything everything nobody somebody anybody everybody
    one two three four five six seven eight nine ten hundred thousand sir madam ma'am mr mrs miss
    ms dr latin greek bible church street road house hall square park lane avenue court
    """.split()
)
"""Capitalised words that are no names by themselves."""

NICKNAMES = {
    short: line.partition(":")[0].strip()
    for line in """
    abigail: abby
    albert: bert bertie al
    alexander: alec alick sandy alex
    alfred: alf fred
    andrew: andy
    anthony: tony
    archibald: archie
    arthur: art
    augustus: gus gussie
    barbara: babs
    benjamin: ben benny
    caroline: carrie caro
    catherine: kate kitty cathy kit katie
    cecilia: cecily cissy sissy
    charles: charley charlie
    charlotte: lottie
    christopher: kit chris
    daniel: dan danny
    david: dave davy
    deborah: debby
    dorothea: dolly dora dodo
    dorothy: dolly dot
    ebenezer: eben
    edmund: ned
    edward: ned ted teddy eddie
    eleanor: nell nellie nora
    elizabeth: eliza lizzy lizzie bess bessie beth betsy betty
    emily: em emmy
    ernest: ernie
    esther: hetty
    ethelbert: bertie
    florence: flo florrie
    frances: fanny
    francis: frank
    frederick: fred freddy freddie
    george: georgie geordie
    gertrude: gertie
    gilbert: gil
    harriet: hattie
    helen: nell nelly
    henrietta: hetty etta
    henry: harry hal
    herbert: bertie
    isabella: bella
    jacob: jake
    james: jim jimmy jem jamie
    jane: jenny jennie
    jeremiah: jerry
    john: jack johnny
    jonathan: jon
    joseph: joe joey jo
    josephine: jo
    katharine: kate kitty
    katherine: kate kitty
    laurence: larry
    lawrence: larry
    leonard: len
    louisa: lou
    lucius: luce
    margaret: meg maggie peggy madge meggy magsy daisy
    martha: patty
    mary: molly polly
    matilda: tilly
    matthew: matt
    michael: mike mick
    mildred: milly
    nathaniel: nat
    nicholas: nick
    oliver: noll
    patrick: pat paddy
    peter: pete
    philip: phil pip
    rachel: rae
    rebecca: becky
    reginald: reggie
    richard: dick rick
    robert: bob bobby rob robin bert
    samuel: sam sammy
    sarah: sally sadie
    stephen: steve
    susan: sue susie
    theodore: ted teddy
    thomas: tom tommy
    timothy: tim
    victoria: vicky
    walter: wat wally
    william: will bill billy willie
    winifred: winnie
    """.strip().splitlines()
    for short in line.partition(":")[2].split()
}
"""Short form of a given name -> the name; the last one if it is short for several."""
